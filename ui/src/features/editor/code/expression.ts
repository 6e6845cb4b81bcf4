/** Colours and completion for expressions and texts with `{{ }}`. What they give is said by the engine, not here. */
import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete';
import { StreamLanguage, type StringStream } from '@codemirror/language';
import { tags } from '@lezer/highlight';
import type { Json } from '../../../api/json';
import { write } from '../../../api/json';
import { stepPath } from '../../../graph/references';
import type { ExpressionFunction } from '../model/wire';

const WORDS = new Set(['true', 'false', 'null', 'and', 'or', 'not', 'in']);
const ROOTS = ['input', 'steps', 'variables', 'user', 'execution', 'env', 'secrets', 'webhook'];

interface State {
  inside: boolean;
  depth: number;
}

function code(stream: StringStream, state: State): string | null {
  if (stream.match(/^["'](?:[^"'\\]|\\.)*["']/)) return 'string';
  if (stream.match(/^\d+(\.\d+)?(e[+-]?\d+)?/i)) return 'number';
  const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u);
  if (word && typeof word !== 'boolean') {
    if (WORDS.has(word[0])) return 'keyword';
    if (stream.match(/^\s*\(/, false)) return 'function';
    return ROOTS.includes(word[0]) ? 'namespace' : 'propertyName';
  }
  const letter = stream.next();
  if (letter === '{') state.depth++;
  if (letter === '}') state.depth = Math.max(0, state.depth - 1);
  return letter !== undefined && '+-*/%<>=!&|?:'.includes(letter) ? 'operator' : null;
}

const tokenTable = { function: tags.function(tags.variableName), namespace: tags.namespace };

export const expressionLanguage = StreamLanguage.define<State>({
  name: 'pawl-expression',
  startState: () => ({ inside: true, depth: 0 }),
  token: (stream, state) => (stream.eatSpace() ? null : stream.match(/^(\{\{|\}\})/) ? 'brace' : code(stream, state)),
  tokenTable,
});

export const templateLanguage = StreamLanguage.define<State>({
  name: 'pawl-template',
  startState: () => ({ inside: false, depth: 0 }),
  token: (stream, state) => {
    if (!state.inside) {
      if (stream.match('{{')) {
        state.inside = true;
        state.depth = 0;
        return 'brace';
      }
      stream.next();
      stream.match(/^[^{]+/);
      return null;
    }
    if (state.depth === 0 && stream.match('}}')) {
      state.inside = false;
      return 'brace';
    }
    return stream.eatSpace() ? null : code(stream, state);
  },
  tokenTable,
});

export interface CompletionData {
  functions: ExpressionFunction[];
  nodes: string[];
  /** What the node would see with the chosen data. */
  context: Json;
}

const PATH = /(?:[\p{L}_][\p{L}\p{N}_]*|\["(?:[^"\\]|\\.)*"\]|\[\d+\]|\?\.|\.)*$/u;

/** Roots, functions, node ids, and real paths with their values. */
export function completeExpression(data: () => CompletionData, template: boolean) {
  return (context: CompletionContext): CompletionResult | null => {
    const before = context.state.doc.sliceString(0, context.pos);
    if (template && before.lastIndexOf('{{') <= before.lastIndexOf('}}') - 1 && before.lastIndexOf('{{') < before.lastIndexOf('}}'))
      return null;
    if (template && !before.includes('{{')) return null;
    const path = PATH.exec(before)?.[0] ?? '';
    const cut = Math.max(path.lastIndexOf('.'), path.lastIndexOf(']'));
    if (cut < 0) {
      const word = path.length;
      if (word === 0 && !context.explicit && !/\{\{\s*$/.test(before)) return null;
      return { from: context.pos - word, options: topLevel(data()), validFor: /^[\p{L}\p{N}_]*$/u };
    }
    if (path[cut] !== '.') return null;
    return { from: context.pos - (path.length - cut - 1), options: members(data(), path.slice(0, cut)), validFor: /^[\p{L}\p{N}_]*$/u };
  };
}

function topLevel({ functions, context }: CompletionData): Completion[] {
  const roots = ROOTS.map((label) => ({ label, type: 'namespace', detail: preview(valueAt(context, [label])), boost: 2 }));
  const calls = functions.map((one) => ({
    label: one.name,
    type: 'function',
    detail: one.signature.slice(one.name.length),
    info: `${one.doc}\n${one.example} → ${one.result}`,
    apply: `${one.name}(`,
  }));
  return [...roots, ...calls];
}

const STEP_FIELDS = ['output', 'status', 'error', 'runs'];

function members(data: CompletionData, path: string): Completion[] {
  const parts = partsOf(path);
  const value = valueAt(data.context, parts);
  const known = value !== null && typeof value === 'object' && !Array.isArray(value) ? Object.entries(value) : [];
  const options = known.map(([key, inner]) => member(key, inner));
  const more = parts.length === 1 && parts[0] === 'steps' ? data.nodes : parts.length === 2 && parts[0] === 'steps' ? STEP_FIELDS : [];
  for (const label of more) if (!Object.hasOwn(Object.fromEntries(known), label)) options.push(member(label, undefined));
  return options;
}

function member(key: string, value: Json | undefined): Completion {
  const plain = /^[\p{L}_][\p{L}\p{N}_]*$/u.test(key);
  const option: Completion = {
    label: key,
    type: value !== null && typeof value === 'object' ? 'class' : 'property',
    detail: preview(value),
    boost: value === undefined ? -1 : 1,
  };
  if (plain) return option;
  return {
    ...option,
    apply: (view, _, from, to) => view.dispatch({ changes: { from: from - 1, to, insert: `[${JSON.stringify(key)}]` } }),
  };
}

function partsOf(path: string): string[] {
  return [...path.matchAll(/([\p{L}_][\p{L}\p{N}_]*)|\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]/gu)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? '',
  );
}

export function valueAt(value: Json | undefined, parts: (string | number)[]): Json | undefined {
  let at: Json | undefined = value;
  for (const part of parts) {
    if (at === null || typeof at !== 'object') return undefined;
    at = Object.hasOwn(at, part) ? (at as Record<string, Json>)[part] : undefined;
  }
  return at;
}

export function preview(value: Json | undefined): string {
  if (value === undefined) return '';
  if (Array.isArray(value)) return `[${value.length}]`;
  if (value !== null && typeof value === 'object') return `{${Object.keys(value).slice(0, 4).join(', ')}}`;
  const text = write(value);
  return text.length > 32 ? `${text.slice(0, 31)}…` : text;
}

/** A path of the context as an expression: `steps.fetch.output.body[0].id`. */
export function pathText(parts: (string | number)[]): string {
  return parts
    .map((part, at) => {
      if (typeof part === 'number') return `[${part}]`;
      if (at === 1 && parts[0] === 'steps') return stepPath(part).slice('steps'.length);
      if (!/^[\p{L}_][\p{L}\p{N}_]*$/u.test(part)) return `[${JSON.stringify(part)}]`;
      return at === 0 ? part : `.${part}`;
    })
    .join('');
}
