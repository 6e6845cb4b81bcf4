/** Finding and rewriting `steps.ID` in the texts of a schema. What stands inside a string of an expression is no reference. */
export type TextMode = 'template' | 'expression' | 'javascript';

const PLAIN_NAME = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const REFERENCE =
  /(?<![\p{L}\p{N}_$.])steps\s*(\?\.|\.)?\s*(?:([\p{L}_][\p{L}\p{N}_]*)|\[\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\s*\])/uy;
const N8N_REFERENCE = /(?<![\p{L}\p{N}_])\$\(\s*(?:"([^"\\]*)"|'([^'\\]*)')\s*\)/uy;

/** The path of a node in an expression: `steps.fetch`, `steps["my node"]`. */
export function stepPath(id: string, optional = false): string {
  const dot = optional ? '?.' : '.';
  return PLAIN_NAME.test(id) ? `steps${dot}${id}` : `steps${optional ? '?.' : ''}[${JSON.stringify(id)}]`;
}

export interface Rewriting {
  text: string;
  count: number;
}

/** Every reference to a node of `renames` gets its new name. */
export function rewriteSteps(text: string, renames: Map<string, string>, mode: TextMode): Rewriting {
  if (mode !== 'template') {
    const { text: made, count } = rewriteCode(text, renames, mode === 'javascript', false);
    return { text: made, count };
  }
  let made = '';
  let count = 0;
  let at = 0;
  while (at < text.length) {
    const open = text.indexOf('{{', at);
    if (open < 0) break;
    made += text.slice(at, open + 2);
    const inner = rewriteCode(text.slice(open + 2), renames, false, true);
    made += inner.text;
    count += inner.count;
    at = open + 2 + inner.read;
  }
  return { text: made + text.slice(at), count };
}

interface CodeRewriting extends Rewriting {
  /** How much of the text was read: up to the `}}` of a template. */
  read: number;
}

function rewriteCode(text: string, renames: Map<string, string>, javascript: boolean, inTemplate: boolean): CodeRewriting {
  let made = '';
  let count = 0;
  let at = 0;
  let depth = 0;
  while (at < text.length) {
    const letter = text[at] as string;
    if (inTemplate && depth === 0 && text.startsWith('}}', at)) break;
    if (letter === '{') depth++;
    if (letter === '}') depth = Math.max(0, depth - 1);
    const found = referenceAt(text, at, javascript);
    if (found !== null) {
      const to = renames.get(found.id);
      made += to === undefined ? found.text : found.write(to);
      if (to !== undefined) count++;
      at += found.text.length;
      continue;
    }
    const length = letter === '"' || letter === "'" ? stringLength(text, at) : 1;
    made += text.slice(at, at + length);
    at += length;
  }
  return { text: made, count, read: at };
}

interface Reference {
  id: string;
  text: string;
  write: (id: string) => string;
}

function referenceAt(text: string, at: number, javascript: boolean): Reference | null {
  const letter = text[at];
  if (letter === 's') {
    REFERENCE.lastIndex = at;
    const match = REFERENCE.exec(text);
    if (match === null) return null;
    const [whole, dot, name, double, single] = match;
    if (name !== undefined && dot === undefined) return null;
    const id = name ?? unescaped(double ?? single ?? '');
    return { id, text: whole, write: (to) => stepPath(to, dot === '?.') };
  }
  if (!javascript || letter !== '$') return null;
  N8N_REFERENCE.lastIndex = at;
  const match = N8N_REFERENCE.exec(text);
  if (match === null) return null;
  return { id: match[1] ?? match[2] ?? '', text: match[0], write: (to) => `$(${JSON.stringify(to)})` };
}

const unescaped = (text: string) => text.replaceAll(/\\(.)/g, '$1');

function stringLength(text: string, at: number): number {
  const quote = text[at];
  for (let end = at + 1; end < text.length; end++) {
    if (text[end] === '\\') end++;
    else if (text[end] === quote) return end + 1 - at;
  }
  return 1;
}

/** How a text is read, by its place: `fields` says so for the config of a type. */
export type ModeOf = (nodeType: string, path: (string | number)[]) => TextMode | null;

export interface TextAt {
  path: (string | number)[];
  text: string;
}

/** All texts inside a value, each with its path. */
export function textsIn(value: unknown, path: (string | number)[] = [], found: TextAt[] = []): TextAt[] {
  if (typeof value === 'string') found.push({ path, text: value });
  else if (Array.isArray(value)) {
    for (const [at, inner] of value.entries()) textsIn(inner, [...path, at], found);
  } else if (value !== null && typeof value === 'object')
    for (const [key, inner] of Object.entries(value)) textsIn(inner, [...path, key], found);
  return found;
}
