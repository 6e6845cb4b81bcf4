/** How values become text: each in the style it had, or in a plain one. */
import { Document, isMap, isScalar, isSeq, type Node, parseDocument, Scalar, visit, type YAMLMap } from 'yaml';

/** The longest flow collection that is written in one line when it stood in several. */
const LONGEST_LINE = 110;

export function firstLine(message: string): string {
  return message.split('\n')[0]?.replace(/ at line \d+, column \d+:?$/, '') ?? message;
}

/** Integers that JavaScript holds exactly become numbers; the others stay bigint and are written back digit by digit. */
export function plainValue(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(plainValue);
  if (value !== null && typeof value === 'object') {
    const made: Record<string, unknown> = {};
    for (const [key, inner] of Object.entries(value)) define(made, key, plainValue(inner));
    return made;
  }
  return value;
}

/** `__proto__` as a key is data like any other. */
function define(target: Record<string, unknown>, key: string, value: unknown) {
  Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true });
}

export function styleOf(text: string, before: Scalar.Type | undefined): Scalar.Type {
  const block = before === Scalar.BLOCK_LITERAL || before === Scalar.BLOCK_FOLDED;
  if (text.includes('\n')) return Scalar.BLOCK_LITERAL;
  const single = text.includes('"') && !text.includes("'") && !/[\\\n\t]/.test(text);
  if (before !== undefined && !block) return before === Scalar.QUOTE_DOUBLE && single ? Scalar.QUOTE_SINGLE : before;
  if (!text.includes('{{')) return Scalar.PLAIN;
  return single ? Scalar.QUOTE_SINGLE : Scalar.QUOTE_DOUBLE;
}

export const keyOf = (key: unknown) => String(isScalar(key) ? key.value : key);

export const isFlat = (map: YAMLMap) => map.items.every((pair) => isScalar(pair.value));

export function freshNode(tree: Document, value: unknown): Node {
  const node = tree.createNode(value) as Node;
  visit(node as never, {
    Scalar(_, scalar) {
      if (typeof scalar.value === 'string') scalar.type = styleOf(scalar.value, undefined);
    },
  });
  return node;
}

export function writeTree(tree: Document, before: string, placed: boolean): string {
  if (placed) foldLongFlows(tree, before);
  return tree.toString({ lineWidth: 0, indentSeq: indentsLists(before), flowCollectionPadding: true, minContentWidth: 0 });
}

/** What stood in several lines in braces, and would be a long line now, becomes a block. */
function foldLongFlows(tree: Document, before: string) {
  visit(tree, {
    Collection(_, node) {
      const range = node.range;
      if (!node.flow || !range) return;
      const stood = before.slice(range[0], range[1]);
      if (stood.includes('\n') && stood.length > LONGEST_LINE) node.flow = false;
    },
  });
}

/** Whether the items of `nodes:` are indented, as most people write, or stand below its first letter. */
function indentsLists(text: string): boolean {
  return !/^(nodes|edges|triggers):[ \t]*(#.*)?\n(\s*#.*\n|\s*\n)*-/m.test(text);
}

/** JSON with the digits of large integers as they are. */
export function writeJson(value: unknown): string {
  const marks: string[] = [];
  const mark = `\u0000${Math.random().toString(36).slice(2)}:`;
  const text = JSON.stringify(
    value,
    (_, inner) => {
      if (typeof inner !== 'bigint') return inner;
      marks.push(inner.toString());
      return `${mark}${marks.length - 1}`;
    },
    2,
  );
  if (marks.length === 0) return `${text}\n`;
  const quoted = JSON.stringify(mark).slice(1, -1);
  return `${text.replaceAll(new RegExp(`"${quoted.replaceAll('\\', '\\\\')}(\\d+)"`, 'g'), (_, at) => marks[Number(at)] ?? '')}\n`;
}

/** The text of a definition that has none: top level in the usual order, edges in one line each. */
export function writeDefinition(definition: Record<string, unknown>): string {
  const ordered: Record<string, unknown> = {};
  for (const key of ['name', 'description', 'external_id', 'settings', 'triggers', 'nodes', 'edges']) {
    if (definition[key] !== undefined && definition[key] !== null) ordered[key] = definition[key];
  }
  for (const [key, value] of Object.entries(definition))
    if (!Object.hasOwn(ordered, key) && value !== null && value !== undefined) define(ordered, key, value);
  const tree = new Document({});
  tree.contents = freshNode(tree, ordered) as never;
  const nodes = tree.get('nodes', true);
  const edges = tree.get('edges', true);
  if (isSeq(nodes)) {
    nodes.items.forEach((item, at) => {
      if (!isMap(item)) return;
      if (isFlat(item) && item.items.length <= 3) item.flow = true;
      (item as Node).spaceBefore = at > 0;
    });
  }
  if (isSeq(edges)) for (const item of edges.items) if (isMap(item) && isFlat(item)) item.flow = true;
  for (const pair of (tree.contents as unknown as YAMLMap).items) {
    if (['nodes', 'edges', 'triggers', 'settings'].includes(keyOf(pair.key)) && isScalar(pair.key)) pair.key.spaceBefore = true;
  }
  return tree.toString({ lineWidth: 0, indentSeq: true, minContentWidth: 0 });
}

/** Any value as YAML, for a field that takes anything. */
export function writeValue(value: unknown): string {
  if (value === undefined) return '';
  const tree = new Document();
  tree.contents = freshNode(tree, value) as never;
  return tree.toString({ lineWidth: 0 }).replace(/\n$/, '');
}

export type ValueReading = { ok: true; value: unknown } | { ok: false; message: string; at: number };

export function readValue(text: string): ValueReading {
  if (text.trim() === '') return { ok: true, value: undefined };
  const tree = parseDocument(text, { intAsBigInt: true });
  const error = tree.errors[0];
  if (error !== undefined) return { ok: false, message: firstLine(error.message), at: error.pos[0] };
  return { ok: true, value: plainValue(tree.toJS()) };
}
