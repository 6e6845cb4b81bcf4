import { describe, expect, it } from 'vitest';
import { read, readMarked, write } from './json';

const EXACT = ['9223372036854775807', '-9223372036854775808', '9007199254740993', '-9007199254740993', '18446744073709551616'];

describe('JSON without loss', () => {
  it.each(EXACT)('keeps %s, alone and deep inside', (digits) => {
    expect(read(digits)).toBe(BigInt(digits));
    const text = `{"a":[{"b":${digits}}],"c":1.5}`;
    expect(write(read(text))).toBe(text);
  });

  it('keeps what a number can say a number', () => {
    for (const text of ['0', '-1', '9007199254740991', '1.5', '1e300', '0.1234567890123456789']) expect(typeof read(text)).toBe('number');
  });

  it('does not take digits in texts for numbers', () => {
    expect(read('{"id":"12345678901234567890"}')).toEqual({ id: '12345678901234567890' });
  });

  it('the way for old browsers reads the same', () => {
    for (const digits of EXACT) {
      const text = `{"${digits}":[${digits},-0.${digits.replace('-', '')},1e-1234567890123456,"\\"${digits}"],"__proto__":${digits}}`;
      expect(write(readMarked(text))).toBe(write(read(text)));
      expect(write(readMarked(text))).toContain(`[${digits},`);
    }
    expect(readMarked('1234567890123456')).toBe(1234567890123456);
    expect(() => readMarked('[01234567890123456]')).toThrow(SyntaxError);
  });

  it('writes what it read, with and without indentation', () => {
    const value = read('{"a":[1,{"b":null,"ü":"\\u0000\\"<"}],"e":{},"l":[],"n":-9007199254740993,"t":true}');
    for (const indent of [0, 2]) expect(read(write(value, indent))).toEqual(value);
    expect(write([1, undefined])).toBe('[1,null]');
  });

  it('`__proto__` is a member like any other', () => {
    const value = read('{"__proto__":{"polluted":true},"big":9007199254740993}');
    expect(Object.keys(value as object)).toContain('__proto__');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    expect(write(value)).toContain('"__proto__":{"polluted":true}');
  });

  it('says that bad text is bad', () => expect(() => read('{"a":12345678901234567890')).toThrow(SyntaxError));
});
