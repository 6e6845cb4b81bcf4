import { describe, expect, it } from 'vitest';
import { read } from '../api/json';
import { bytesOf, fileName, firstBytes, payloadText } from './payload';

const size = (text: string) => new TextEncoder().encode(text).length;

describe('a payload', () => {
  it('is copied as it is if it is a text, else as JSON with exact numbers', () => {
    expect(payloadText('a "text"\n')).toBe('a "text"\n');
    expect(payloadText(read('{"n":9007199254740993}'))).toBe('{\n  "n": 9007199254740993\n}');
  });
  it('has the size that it has on the wire', () => {
    for (const text of ['', 'abc', 'ключ', '€', '😀 и 😀', '\ud800 alone', '\udc00\ud800']) expect(bytesOf(text), text).toBe(size(text));
  });
  it('is cut between characters', () => {
    expect(firstBytes('abc', 100)).toBe('abc');
    expect(firstBytes('ключ', 5)).toBe('кл');
    expect(firstBytes('a😀b', 4)).toBe('a');
    expect(firstBytes('a😀b', 5)).toBe('a😀');
    const long = 'ж'.repeat(100_000);
    expect(size(firstBytes(long, 64 * 1024))).toBe(64 * 1024);
  });
  it('becomes a file with a plain name', () => {
    expect(fileName(['order-check', 'e166', 'output'], { a: 1 })).toBe('order-check-e166-output.json');
    expect(fileName(['../../etc', 'a/b', 'итог'], 'x')).toBe('etc-a-b-итог.txt');
    expect(fileName(['..'], null)).toBe('value.json');
  });
});
