/** Sentences that the engine writes, in the language of the page where their values are known; else as the engine wrote them. */
import type { Translate } from './index';

type Params = { readonly [name: string]: unknown } | null | undefined;
interface Told {
  code: string;
  message: string;
  params?: Params;
}

/** One problem of a schema. */
export function faultSaid(fault: Told, t: Translate): string {
  const part = ['member', 'node'].find((name) => has(fault.params, name)) ?? '';
  return said(t, `fault_${fault.code}`, part, fault);
}

/** An error of the API. */
export function refusalSaid(error: Told, t: Translate): string {
  const { params } = error;
  const refusal = params?.refusal;
  const part = typeof refusal === 'string' ? refusal : (PARTS.find((name) => has(params, name)) ?? '');
  return said(t, `refusal_${error.code}`, part, error);
}

/** What is missing, the most exact first: a missing version is told with its schema. */
const PARTS = ['execution', 'step', 'letter', 'version', 'schema'];

function said(t: Translate, key: string, part: string, { message, params }: Told): string {
  if (!params) return message;
  const values: { [name: string]: string } = {};
  for (const [name, value] of Object.entries(params)) {
    const text = key === 'fault_WRONG_TYPE' && TYPES.has(name) ? typeSaid(String(value), t) : shown(name, value, t);
    // A type without words: half a sentence in each language is worse than one in English.
    if (text === undefined) return message;
    values[name] = text;
  }
  const keys = [`engine.${key}_${part}`, `engine.${key}`];
  for (const one of keys) {
    const text = filled(one, values, t);
    if (text !== undefined) return text;
  }
  return message;
}

/** The text of a key, if there is one and a value for each name in it. */
export function filled(key: string, values: { [name: string]: string }, t: Translate): string | undefined {
  return isFilled(t.maybe(key), values) ? t.maybe(key, values) : undefined;
}

/** Whether there is a text, and a value for each `{name}` in it. */
function isFilled(pattern: string | undefined, values: { [name: string]: string }): boolean {
  return pattern !== undefined && [...pattern.matchAll(/\{(\w+)\}/g)].every(([, name]) => Object.hasOwn(values, name ?? ''));
}

const has = (params: Params, name: string) => Object.hasOwn(params ?? {}, name);

function shown(name: string, value: unknown, t: Translate): string {
  if (Array.isArray(value)) return value.map((one) => `\`${one}\``).join(', ');
  if (name === 'status') return t.name('common', 'status', String(value));
  return String(value);
}

/** Parameters that name a type in words of the engine. Others are names that people gave. */
const TYPES = new Set(['wanted', 'found']);
const ONE_OF = 'one of ';

/** `text`, `one of a, b`, `a list or an object`. The names of a choice stay; one with ` or ` in it is not told from a list of types. */
function typeSaid(value: string, t: Translate): string | undefined {
  const known = t.maybe(`engine.word_${value}`);
  if (known !== undefined) return known;
  const parts = value.split(' or ').map((part) => {
    if (!part.startsWith(ONE_OF)) return t.maybe(`engine.word_${part}`);
    return t.maybe('engine.word_one of', { names: part.slice(ONE_OF.length) });
  });
  const or = t.maybe('engine.word_or');
  return or === undefined || parts.includes(undefined) ? undefined : parts.join(` ${or} `);
}
