/** A payload as text: for the clipboard, for a file, and how much of it is shown. */
import { type Json, write } from '../api/json';

/** Of a long text so much is shown. */
export const SHOWN_BYTES = 64 * 1024;

/** A text as it is; anything else as JSON that people can read. */
export function payloadText(value: Json): string {
  return typeof value === 'string' ? value : write(value, 2);
}

export function bytesOf(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x80) continue;
    const pair = code >= 0xd800 && code < 0xdc00 && isLow(text.charCodeAt(at + 1));
    // A pair is four bytes for its two units, a half of one is written as the three bytes of U+FFFD.
    bytes += code < 0x800 ? 1 : 2;
    if (pair) at += 1;
  }
  return bytes;
}

const isLow = (code: number) => code >= 0xdc00 && code < 0xe000;

/** The beginning of a text, at most so many bytes of it, with no character cut in half. */
export function firstBytes(text: string, most: number): string {
  if (text.length * 3 <= most) return text;
  let bytes = 0;
  for (let at = 0; at < text.length; ) {
    const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
    bytes += bytesOf(character);
    if (bytes > most) return text.slice(0, at);
    at += character.length;
  }
  return text;
}

/** `order-check-6567e166-step-17-output.json`: nothing of a payload's name can leave the folder of downloads. */
export function fileName(parts: readonly (string | number)[], value: Json): string {
  const name = parts
    .map((part) => String(part).replace(/[^\p{L}\p{N}._-]+/gu, '-'))
    .join('-')
    .replace(/^[-.]+|[-.]+$/g, '')
    .slice(0, 120);
  return `${name || 'value'}.${typeof value === 'string' ? 'txt' : 'json'}`;
}
