/**
 * A schema as text: the `yaml` document behind it, which keeps comments, and the plain definition that everything else reads.
 * A text of JSON stays JSON: it is written as JSON again.
 */
import {
  type Document,
  isAlias,
  isCollection,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  Scalar,
  YAMLMap,
  YAMLSeq,
} from 'yaml';
import type { DefinedEdge, DefinedNode, GraphDefinition } from './model';
import { firstLine, freshNode, isFlat, keyOf, plainValue, styleOf, writeDefinition, writeJson, writeTree } from './writing';

export { readValue, type ValueReading, writeDefinition, writeJson, writeValue } from './writing';

export type Path = (string | number)[];

export type Patch =
  | { op: 'set'; path: Path; value: unknown }
  | { op: 'delete'; path: Path }
  /** Into a list; at its end without `at`. */
  | { op: 'insert'; path: Path; at?: number; value: unknown };

export interface SchemaDefinition extends GraphDefinition {
  name: string;
  nodes: DefinedNode[];
  edges: DefinedEdge[];
  description?: string | null;
  settings?: Record<string, unknown> | null;
  triggers?: Record<string, unknown>[] | null;
  [field: string]: unknown;
}

export interface Place {
  line: number;
  column: number;
}

export interface TextProblem extends Place {
  message: string;
  /** Offset in the text. */
  at: number;
}

export type Reading = { ok: true; document: SchemaText } | { ok: false; problem: TextProblem };

export class SchemaText {
  readonly text: string;
  readonly json: boolean;
  private readonly tree: Document.Parsed;
  /** Whether the ranges of the tree are places in this text: they are not after a patch. */
  private readonly placed: boolean;
  private reread: Document.Parsed | undefined;
  private plain: SchemaDefinition | undefined;

  private constructor(text: string, tree: Document.Parsed, placed: boolean) {
    this.text = text;
    this.tree = tree;
    this.placed = placed;
    this.json = text.trimStart().startsWith('{');
  }

  static read(text: string): Reading {
    const lines = new LineCounter();
    const tree = parseDocument(text, { intAsBigInt: true, lineCounter: lines, keepSourceTokens: false, uniqueKeys: true, strict: true });
    const error = tree.errors[0];
    if (error !== undefined) {
      const { line, col } = lines.linePos(error.pos[0]);
      return { ok: false, problem: { message: firstLine(error.message), at: error.pos[0], line, column: col } };
    }
    if (!isMap(tree.contents))
      return { ok: false, problem: { message: 'a schema is a mapping with `name` and `nodes`', at: 0, line: 1, column: 1 } };
    return { ok: true, document: new SchemaText(text, tree, true) };
  }

  static of(definition: Record<string, unknown>): SchemaText {
    const reading = SchemaText.read(writeDefinition(definition));
    if (!reading.ok) throw new Error(`a written definition cannot be read: ${reading.problem.message}`);
    return reading.document;
  }

  get definition(): SchemaDefinition {
    this.plain ??= normal(plainValue(this.tree.toJS({ maxAliasCount: 1000 })));
    return this.plain;
  }

  /** A new text; this one stays as it is. The tree is copied and written, not read again: that would take four times as long. */
  patched(patches: Patch[]): SchemaText {
    if (patches.length === 0) return this;
    const tree = this.tree.clone() as Document.Parsed;
    for (const patch of patches) applyPatch(tree, patch);
    const text = this.json ? writeJson(tree.toJS()) : writeTree(tree, this.text, this.placed);
    return new SchemaText(text, tree, false);
  }

  /** The tree with the places of this text. */
  private get read(): Document.Parsed {
    this.reread ??= this.placed ? this.tree : parseDocument(this.text, { intAsBigInt: true });
    return this.reread;
  }

  /** Where a value stands, as offsets. */
  rangeOf(path: Path): [number, number] | null {
    const node = this.read.getIn(path, true) as Node | undefined;
    const range = node?.range;
    return range ? [range[0], range[1]] : null;
  }

  /** The node whose text is at an offset. */
  nodeAt(offset: number): string | null {
    const nodes = this.read.get('nodes', true);
    if (!isSeq(nodes)) return null;
    for (const item of nodes.items) {
      if (!isMap(item) || !item.range || offset < item.range[0] || offset > item.range[2]) continue;
      return String(item.get('id') ?? '') || null;
    }
    return null;
  }
}

/** Only what has the shape of a node or an edge; the engine's check tells about the rest. */
function normal(read: unknown): SchemaDefinition {
  const whole = read as Record<string, unknown>;
  const nodes = listOf(whole.nodes).flatMap((node) => {
    const made = record(node);
    return made === null || made.id === undefined ? [] : [{ ...made, id: String(made.id), type: String(made.type ?? '') } as DefinedNode];
  });
  const edges = listOf(whole.edges).flatMap((edge) => {
    const made = record(edge);
    if (made === null) return [];
    const handle = made.sourceHandle;
    const rest = handle === undefined || handle === null ? {} : { sourceHandle: String(handle) };
    return [{ ...made, source: String(made.source ?? ''), target: String(made.target ?? ''), ...rest } as DefinedEdge];
  });
  return { ...whole, name: String(whole.name ?? ''), nodes, edges };
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const record = (value: unknown) =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : null;

function applyPatch(tree: Document, patch: Patch) {
  if (patch.op === 'delete') {
    ownParents(tree, patch.path);
    if (tree.hasIn(patch.path)) tree.deleteIn(patch.path);
    return;
  }
  if (patch.op === 'insert') {
    insertInto(tree, patch.path, patch.at, patch.value);
    return;
  }
  ownParents(tree, patch.path);
  const present = tree.getIn(patch.path, true) as Node | undefined;
  if (present !== undefined && updated(tree, present, patch.value)) return;
  makeParents(tree, patch.path);
  tree.setIn(patch.path, freshNode(tree, patch.value));
}

/** An alias on the way is replaced by what it stands for, so that a change here changes nothing elsewhere. */
function ownParents(tree: Document, path: Path) {
  for (let length = 1; length <= path.length; length++) {
    const way = path.slice(0, length);
    const node = tree.getIn(way, true);
    if (isAlias(node)) tree.setIn(way, tree.createNode(node.toJS(tree)));
  }
}

function makeParents(tree: Document, path: Path) {
  for (let length = 1; length < path.length; length++) {
    const way = path.slice(0, length);
    if (isCollection(tree.getIn(way, true))) continue;
    tree.setIn(way, typeof path[length] === 'number' ? new YAMLSeq() : new YAMLMap());
  }
}

/** Changes what is there in place, which keeps its comments and its style; false where it has to be replaced. */
function updated(tree: Document, present: Node, value: unknown): boolean {
  if (isScalar(present)) return updatedScalar(present, value);
  if (isMap(present)) return record(value) !== null && updatedMap(tree, present, value as Record<string, unknown>);
  if (isSeq(present)) return Array.isArray(value) && updatedList(tree, present, value);
  return false;
}

function updatedScalar(present: Scalar, value: unknown): boolean {
  if (value !== null && typeof value === 'object') return false;
  if (plainValue(present.value) === value) return true;
  const wasText = typeof present.value === 'string';
  present.value = value;
  delete present.source;
  delete present.format;
  if (typeof value === 'string') present.type = styleOf(value, wasText ? present.type : undefined);
  else present.type = Scalar.PLAIN;
  return true;
}

function updatedMap(tree: Document, present: YAMLMap, value: Record<string, unknown>): boolean {
  for (const pair of [...present.items]) {
    const key = keyOf(pair.key);
    if (!Object.hasOwn(value, key)) present.delete(pair.key);
  }
  for (const [key, inner] of Object.entries(value)) {
    const pair = present.items.find((one) => keyOf(one.key) === key);
    const old = pair?.value as Node | undefined;
    if (pair !== undefined && old && !isAlias(old) && updated(tree, old, inner)) continue;
    if (pair !== undefined) pair.value = freshNode(tree, inner);
    else present.add(tree.createPair(key, freshNode(tree, inner)));
  }
  loosen(present);
  return true;
}

function updatedList(tree: Document, present: YAMLSeq, value: unknown[]): boolean {
  present.items.length = Math.min(present.items.length, value.length);
  value.forEach((inner, at) => {
    const old = present.items[at] as Node | undefined;
    if (old && !isAlias(old) && updated(tree, old, inner)) return;
    present.items[at] = freshNode(tree, inner);
  });
  loosen(present);
  return true;
}

/** An empty `{}` or `[]` that gets contents is not bound to one line. */
function loosen(collection: YAMLMap | YAMLSeq) {
  if (collection.flow && collection.items.length === 0) collection.flow = false;
}

function insertInto(tree: Document, path: Path, at: number | undefined, value: unknown) {
  ownParents(tree, path);
  makeParents(tree, [...path, 0]);
  const list = tree.getIn(path, true) as YAMLSeq;
  if (list.items.length === 0) list.flow = false;
  const made = freshNode(tree, value);
  const place = at ?? list.items.length;
  likeSiblings(list, made);
  list.items.splice(place, 0, made);
}

/** Written as its neighbours are: edges in one line each, nodes with a blank line between them. */
function likeSiblings(list: YAMLSeq, made: Node) {
  const others = list.items.filter((item) => isMap(item));
  const inline = others.filter((item) => item.flow).length;
  if (isMap(made) && others.every((item) => item.items.every((pair) => isScalar(pair.value))) && inline * 2 >= others.length)
    made.flow = isFlat(made);
  made.spaceBefore = others.filter((item) => item.spaceBefore).length * 2 > others.length;
}
