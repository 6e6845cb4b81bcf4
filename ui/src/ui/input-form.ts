/** The input of a start as a form or as JSON: one text is the truth, the form is a view of it. Pure. */
import { isObject, type Json, read, write } from '../api/json';
import type { Definition } from '../api/model';
import { declaredFields, type FormField, type Kind, type Suggested } from './input-schema';

export type Read = { ok: true; value: Json } | { ok: false; message: string };

/** Nothing typed is no input. */
export function readInput(text: string): Read {
  if (text.trim() === '') return { ok: true, value: null };
  try {
    return { ok: true, value: read(text) };
  } catch (thrown) {
    return { ok: false, message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

const REFERENCE = /\binput\.([A-Za-z_]\w*)(?:\s*\?\?\s*("[^"\\]*"|'[^'\\]*'|-?[\d.]+|true|false|null))?/g;

/** The fields that a schema declares as its `input`, or else those that its expressions read. */
export function fieldsOf(definition: Definition | undefined): Suggested[] {
  return declaredFields(definition?.input) ?? readFields(definition);
}

/** The members of `input` that the expressions of a schema read, in their order, with their defaults. */
function readFields(definition: Definition | undefined): Suggested[] {
  const found = new Map<string, string>();
  const walk = (value: Json | undefined): void => {
    if (typeof value === 'string') {
      for (const [, name, standard] of value.matchAll(REFERENCE)) if (name && !found.get(name)) found.set(name, standard ?? '');
    } else if (Array.isArray(value)) value.forEach(walk);
    else if (isObject(value)) Object.values(value).forEach(walk);
  };
  for (const node of definition?.nodes ?? []) walk(node.config);
  walk(definition?.settings);
  return [...found].map(([name, standard]) => ({ name, kind: 'json', standard: standard.replace(/^(['"])(.*)\1$/, '$2') }));
}

/** A text as it is; everything else as JSON. A text that would be read as something else keeps its quotes. */
export function shownValue(value: Json): string {
  if (typeof value !== 'string') return write(value);
  return looksLikeJson(value) ? write(value) : value;
}

function looksLikeJson(text: string): boolean {
  if (text.trim() === '') return true;
  try {
    read(text);
    return true;
  } catch {
    return false;
  }
}

/** What a field means: JSON if it is JSON, else a text. */
export function typedValue(text: string): Json {
  try {
    return read(text);
  } catch {
    return text;
  }
}

/** The fields of the form for the present text; null if the text is no object and only JSON can show it. */
export function formOf(text: string, suggested: readonly Suggested[]): FormField[] | null {
  const input = readInput(text);
  if (!input.ok || (input.value !== null && !isObject(input.value))) return null;
  const members = isObject(input.value) ? input.value : {};
  const known = new Map(suggested.map((one) => [one.name, one]));
  const names = [...new Set([...known.keys(), ...Object.keys(members)])];
  return names.map((name) => {
    const field = known.get(name) ?? { name, kind: 'json' };
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    return { ...field, value, text: value === undefined ? '' : field.kind === 'text' ? plainText(value) : shownValue(value) };
  });
}

/** In a field for text, a text stands as it is; what is no text yet says so by its JSON. */
function plainText(value: Json): string {
  return typeof value === 'string' ? value : write(value);
}

/** What is typed into a field of this kind means. What does not fit is kept as text: the field says what is wrong with it. */
export function meant(kind: Kind, text: string): Json {
  return kind === 'text' ? text : typedValue(text);
}

/** The text after one field of the form was changed; `undefined` leaves it out. */
export function withField(text: string, name: string, value: Json | undefined): string {
  const input = readInput(text);
  // Without a prototype: `__proto__` is a name like any other.
  const members: { [key: string]: Json } = Object.assign(Object.create(null), input.ok && isObject(input.value) ? input.value : {});
  if (value === undefined) delete members[name];
  else members[name] = value;
  return Object.keys(members).length === 0 ? '' : write(members, 2);
}

/** The engine does not fill in `default`: the form begins with it. */
export function beginning(suggested: readonly Suggested[]): string {
  let text = '';
  for (const { name, initial } of suggested) if (initial !== undefined) text = withField(text, name, initial);
  return text;
}

/** Nothing is missing and every value is of its kind: what the form knows without asking the engine. */
export function misfit(field: FormField): 'whole' | 'number' | 'text' | 'choice' | null {
  const { kind, value } = field;
  if (value === undefined) return null;
  if (kind === 'integer') return isWhole(value) ? null : 'whole';
  if (kind === 'number') return typeof value === 'number' || typeof value === 'bigint' ? null : 'number';
  if (kind === 'text') return typeof value === 'string' ? null : 'text';
  if (kind === 'choice') return field.choices?.some((one) => write(one) === write(value)) ? null : 'choice';
  return null;
}

function isWhole(value: Json): boolean {
  return typeof value === 'bigint' || (typeof value === 'number' && Number.isInteger(value));
}
