/** What the page does, as a line for the terminal: `pawl …` or `curl …`. Right for every POSIX shell, whatever the texts hold. */
import { address, type Query } from '../api/client';
import { write } from '../api/json';
import type { Me } from '../api/model';
import { queries, queryClient } from '../api/queries';

/** Characters that no shell reads as anything else; a first `=` is special in zsh. */
const PLAIN = /^[\w@%+:,./-][\w@%+=:,./-]*$/;
/**
 * Control characters act on the terminal when they are pasted: Ctrl-C drops the line, a return sends it. So `printf` makes them.
 * Marks that turn the direction of a text, or have no width, would hide what the line is. A line feed stays: within quotes it is a line feed, and the shell would cut it from the end of what `printf` gives.
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is about
const CONTROL = /([\u0001-\u0009\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]+)/;

/** One argument. No program can be given a NUL, so it is left out. */
export function quoted(text: string): string {
  if (PLAIN.test(text)) return text;
  const pieces = text.replaceAll('\0', '').split(CONTROL);
  const said = pieces.map((piece, at) => (at % 2 === 1 ? `"$(printf '${octal(piece)}')"` : piece && `'${piece.replaceAll("'", "'\\''")}'`));
  return said.join('') || "''";
}

function octal(text: string): string {
  return [...new TextEncoder().encode(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

export type Flags = { [option: string]: string | number | boolean | readonly string[] | null | undefined };

/** `pawl('executions retry', [id], { again: true, var: ['a=1'] })`. What is empty or false is left out. */
export function pawl(command: string, words: readonly (string | number)[] = [], flags: Flags = {}): string {
  const given = words.map(String);
  const options = Object.entries({ ...flags, url: elsewhere() }).flatMap(([name, value]) => option(name, value));
  // A word that looks like an option comes behind `--`, which ends the options.
  const [first, last] = given.some((word) => word.startsWith('-')) ? [[], ['--', ...given.map(quoted)]] : [given.map(quoted), []];
  return ['pawl', command, ...first, ...options, ...last].join(' ');
}

function option(name: string, value: Flags[string]): string[] {
  if (value === undefined || value === null || value === false || value === '') return [];
  if (value === true) return [`--${name}`];
  if (typeof value === 'object') return value.flatMap((one) => option(name, one));
  const text = String(value);
  return [text.startsWith('-') ? `--${name}=${quoted(text)}` : `--${name} ${quoted(text)}`];
}

const STANDARD = ['http://127.0.0.1:8080', 'http://localhost:8080'];

/** The command line goes to its own standard address; for another one the line says which. */
function elsewhere(): string | undefined {
  return STANDARD.includes(window.location.origin) ? undefined : window.location.origin;
}

interface Request {
  query?: Query;
  body?: unknown;
  headers?: { [name: string]: string };
}

/** The call as `curl` makes it. The key is never in it: the shell's own `PAWL_KEY` is sent where one is needed. */
export function curl(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, { query, body, headers }: Request = {}): string {
  const url = new URL(address(path, query), window.location.origin).href;
  const sent = { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  return [
    // Brackets are ranges for curl unless it is told that they are not.
    /[[\]{}]/.test(url) ? 'curl -sg' : 'curl -s',
    ...(method === (body === undefined ? 'GET' : 'POST') ? [] : [`-X ${method}`]),
    quoted(url),
    ...(needsKey() ? ['-H "authorization: Bearer $PAWL_KEY"'] : []),
    ...Object.entries(sent).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body === undefined ? [] : [`--data-raw ${quoted(write(body))}`]),
  ].join(' ');
}

function needsKey(): boolean {
  const me = queryClient.getQueryData<Me>(queries.me().queryKey);
  return me !== undefined && me.login !== 'none';
}
