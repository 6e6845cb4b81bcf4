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
  for (const [name, value] of Object.entries(params)) values[name] = shown(name, value, t);
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
  return t.maybe(`engine.word_${value}`) ?? String(value);
}
