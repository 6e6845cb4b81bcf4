/** The `input` of a schema (JSON Schema 2020-12) as fields of a form, and the problems of an input at these fields. Pure. */
import { isObject, type Json, write } from '../api/json';

/** `json`: whatever a form has no control for; it is written as JSON. */
export type Kind = 'text' | 'integer' | 'number' | 'choice' | 'json';

export interface Suggested {
  name: string;
  kind: Kind;
  title?: string;
  hint?: string;
  required?: boolean;
  choices?: Json[];
  /** `default`: what the form begins with. */
  initial?: Json;
  /** What expressions take if it is left out. */
  standard?: string;
}

export interface FormField extends Suggested {
  value: Json | undefined;
  text: string;
}

type Part = { [key: string]: Json };

/** Null: nothing is declared, or something that is no object with named members. */
export function declaredFields(input: Json | undefined): Suggested[] | null {
  if (!isObject(input)) return null;
  const whole = resolved(input, input);
  const properties = whole && isObject(whole.properties) ? whole.properties : null;
  if (!whole || !properties || (whole.type !== undefined && whole.type !== 'object')) return null;
  const required = Array.isArray(whole.required) ? whole.required : [];
  return Object.entries(properties).map(([name, part]) => ({
    ...described(isObject(part) ? resolved(part, input) : null),
    name,
    required: required.includes(name),
  }));
}

/** More than one way to fit, or a condition: only the engine knows, and JSON can say all of it. */
const MANY = ['anyOf', 'oneOf', 'allOf', 'not', 'if'];

function described(part: Part | null): Omit<Suggested, 'name'> {
  if (!part) return { kind: 'json' };
  const text = (name: string) => (typeof part[name] === 'string' && part[name] !== '' ? part[name] : undefined);
  const about = { title: text('title'), hint: text('description'), initial: part.default };
  if (MANY.some((name) => part[name] !== undefined)) return { ...about, kind: 'json' };
  const choices = part.const !== undefined ? [part.const] : part.enum;
  if (Array.isArray(choices) && choices.length > 0 && choices.every((one) => !isObject(one) && !Array.isArray(one)))
    return { ...about, kind: 'choice', choices };
  if (part.type === 'boolean') return { ...about, kind: 'choice', choices: [true, false] };
  if (part.type === 'string') return { ...about, kind: 'text' };
  if (part.type === 'integer' || part.type === 'number') return { ...about, kind: part.type };
  return { ...about, kind: 'json' };
}

const MOST_REFERENCES = 24;

/** Follows `$ref` within `input`; what stands beside it wins for the words that a form shows. */
function resolved(part: Part, root: Part): Part | null {
  let now = part;
  for (let count = 0; now.$ref !== undefined; count += 1) {
    const target = count < MOST_REFERENCES && typeof now.$ref === 'string' ? find(now.$ref, root) : null;
    if (!target) return null;
    const { $ref: _, ...beside } = now;
    now = { ...target, ...beside };
  }
  return now;
}

function find(reference: string, root: Part): Part | null {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return anchored(reference.slice(1), root);
  let at: Json | undefined = root;
  for (const name of names(decoded(reference.slice(1)))) {
    if (Array.isArray(at)) at = at[Number(name)];
    else at = isObject(at) && Object.hasOwn(at, name) ? at[name] : undefined;
  }
  return isObject(at) ? at : null;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function anchored(name: string, at: Json): Part | null {
  if (Array.isArray(at)) return first(at, name);
  if (!isObject(at)) return null;
  return at.$anchor === name ? at : first(Object.values(at), name);
}

function first(list: Json[], name: string): Part | null {
  for (const one of list) {
    const found = anchored(name, one);
    if (found) return found;
  }
  return null;
}

/** The names of a JSON pointer. */
function names(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
}

export interface InputProblem {
  pointer: string;
  message: string;
}

/** Of a 422 INVALID_INPUT. */
export function inputProblems(details: Json): InputProblem[] {
  const list = isObject(details) && Array.isArray(details.problems) ? details.problems : [];
  return list.flatMap((one) =>
    isObject(one) && typeof one.pointer === 'string' && typeof one.message === 'string'
      ? [{ pointer: one.pointer, message: one.message }]
      : [],
  );
}

export interface Placed {
  /** By the name of the field. */
  fields: Map<string, string>;
  /** Those that are about no field of the form. */
  rest: InputProblem[];
}

/**
 * What was wrong with `sent`, at the fields as they are now. A problem is over as soon as its field is another; that a member is missing
 * is said of the whole input, and belongs to the field of that member.
 */
export function placed(problems: readonly InputProblem[], sent: Json, fields: readonly FormField[]): Placed {
  const at: Placed = { fields: new Map(), rest: [] };
  const before = isObject(sent) ? sent : {};
  for (const problem of problems) {
    const [name, ...deeper] = names(problem.pointer);
    const missing = name === undefined ? fields.find((field) => problem.message.startsWith(`\`${field.name}\` `)) : undefined;
    const field = missing ?? fields.find((one) => one.name === name);
    if (!field) at.rest.push(problem);
    else if (same(field.value, Object.hasOwn(before, field.name) ? before[field.name] : undefined)) {
      const said = deeper.length > 0 ? `/${deeper.join('/')}: ${problem.message}` : problem.message;
      at.fields.set(field.name, [at.fields.get(field.name), said].filter(Boolean).join('; '));
    }
  }
  return at;
}

function same(a: Json | undefined, b: Json | undefined): boolean {
  return (a === undefined ? '' : write(a)) === (b === undefined ? '' : write(b));
}
