/**
 * JSON without loss. Pawl's integers are i64, a JavaScript number is exact to 2^53 only: integers beyond that become `bigint`,
 * everything else is what `JSON.parse` gives. `write` turns both back into the same text.
 */

export type Json = null | boolean | number | bigint | string | Json[] | { [key: string]: Json };

type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;

const INTEGER = /^-?\d+$/;

function exact(text: string): number | bigint {
  const number = Number(text);
  if (Number.isSafeInteger(number) || !INTEGER.test(text)) return number;
  return BigInt(text);
}

const parseWithSource = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** Firefox below 135, Safari below 18.4 and Node 20 do not give the source text. */
const HAS_SOURCE = (() => {
  let source: string | undefined;
  parseWithSource('1', (_key, value, context) => {
    source = context?.source;
    return value;
  });
  return source === '1';
})();

/** Only a run of 16 or more digits can lose something: without one the plain parser is right, and three times as fast. */
const MAY_LOSE = /\d{16}/;

export function read(text: string): Json {
  if (!MAY_LOSE.test(text)) return JSON.parse(text) as Json;
  if (!HAS_SOURCE) return readMarked(text);
  return parseWithSource(text, (_key, value, context) =>
    typeof value === 'number' && context?.source !== undefined ? exact(context.source) : value,
  ) as Json;
}

const STRING_OR_LONG = /"(?:[^"\\]|\\.)*"|(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** The same without source texts: long integers outside of texts are quoted behind a mark that no text of a payload can know. */
export function readMarked(text: string): Json {
  JSON.parse(text);
  const mark = `${Math.random()}:${Math.random()}:`;
  const marked = text.replace(STRING_OR_LONG, (found) => (found.startsWith('"') ? found : `"${mark}${found}"`));
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === 'string' && value.startsWith(mark) ? exact(value.slice(mark.length)) : value,
  ) as Json;
}

/** The text of a value, `bigint` as a number. */
export function write(value: unknown, indent = 0): string {
  return print(value, indent, '') ?? 'null';
}

function print(value: unknown, indent: number, at: string): string | undefined {
  if (typeof value === 'bigint') return value.toString();
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const inner = at + ' '.repeat(indent);
  const [separator, begin, end] = indent === 0 ? [',', '', ''] : [`,\n${inner}`, `\n${inner}`, `\n${at}`];
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]';
    return `[${begin}${value.map((one) => print(one, indent, inner) ?? 'null').join(separator)}${end}]`;
  }
  const members: string[] = [];
  for (const [key, one] of Object.entries(value)) {
    const text = print(one, indent, inner);
    if (text !== undefined) members.push(`${JSON.stringify(key)}:${indent === 0 ? '' : ' '}${text}`);
  }
  return members.length === 0 ? '{}' : `{${begin}${members.join(separator)}${end}}`;
}

export function isObject(value: unknown): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
