/** The input of a start as a form or as JSON: one text is the truth, the form is a view of it. Pure. */
import { isObject, type Json, read, write } from '../../api/json';
import type { Definition } from '../../api/model';

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

export interface FormField {
  name: string;
  text: string;
  /** What expressions take if it is left out. */
  standard: string;
}

const REFERENCE = /\binput\.([A-Za-z_]\w*)(?:\s*\?\?\s*("[^"\\]*"|'[^'\\]*'|-?[\d.]+|true|false|null))?/g;

/** The members of `input` that the expressions of a schema read, in their order, with their defaults. */
export function fieldsOf(definition: Definition | undefined): { name: string; standard: string }[] {
  const found = new Map<string, string>();
  const walk = (value: Json | undefined): void => {
    if (typeof value === 'string') {
      for (const [, name, standard] of value.matchAll(REFERENCE)) if (name && !found.get(name)) found.set(name, standard ?? '');
    } else if (Array.isArray(value)) value.forEach(walk);
    else if (isObject(value)) Object.values(value).forEach(walk);
  };
  for (const node of definition?.nodes ?? []) walk(node.config);
  walk(definition?.settings);
  return [...found].map(([name, standard]) => ({ name, standard: standard.replace(/^(['"])(.*)\1$/, '$2') }));
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
export function formOf(text: string, suggested: readonly { name: string; standard: string }[]): FormField[] | null {
  const input = readInput(text);
  if (!input.ok || (input.value !== null && !isObject(input.value))) return null;
  const members = isObject(input.value) ? input.value : {};
  const names = [...new Set([...suggested.map((one) => one.name), ...Object.keys(members)])];
  return names.map((name) => {
    const value = Object.hasOwn(members, name) ? members[name] : undefined;
    return {
      name,
      text: value === undefined ? '' : shownValue(value),
      standard: suggested.find((one) => one.name === name)?.standard ?? '',
    };
  });
}

/** The text after one field of the form was changed; an empty field is left out. */
export function withField(text: string, name: string, field: string): string {
  const input = readInput(text);
  const members: { [key: string]: Json } = { ...(input.ok && isObject(input.value) ? input.value : {}) };
  if (field.trim() === '') delete members[name];
  else members[name] = typedValue(field);
  return Object.keys(members).length === 0 ? '' : write(members, 2);
}

/** `team=a, region=eu` → labels; a part without a name is an error. */
export function readLabels(text: string): { [name: string]: string } | null {
  const labels: { [name: string]: string } = {};
  for (const part of text
    .split(',')
    .map((one) => one.trim())
    .filter(Boolean)) {
    const found = /^([^=:]+)[=:](.*)$/.exec(part);
    if (!found?.[1]) return null;
    labels[found[1].trim()] = (found[2] ?? '').trim();
  }
  return labels;
}
