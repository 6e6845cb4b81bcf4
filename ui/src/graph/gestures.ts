/** What a gesture on the canvas does to the text, as patches. Nothing here changes anything. */
import type { Patch, SchemaDefinition } from './document';
import { type DefinedEdge, type DefinedNode, SUCCESS, unnamedExit } from './model';
import { type ModeOf, rewriteSteps, textsIn } from './references';

export interface Exit {
  node: string;
  exit: string;
}

/** An edge that names no exit leaves by the first of its node: `true` of a condition, else `success`. */
export function exitOf(edge: DefinedEdge, sourceType: string | undefined): string {
  const handle = edge.sourceHandle;
  if (handle && handle !== 'output') return handle;
  return unnamedExit(sourceType ?? '');
}

export function edgeIndex(definition: SchemaDefinition, from: Exit): number {
  const type = typeOf(definition, from.node);
  return definition.edges.findIndex((edge) => edge.source === from.node && exitOf(edge, type) === from.exit);
}

export const typeOf = (definition: SchemaDefinition, id: string) => definition.nodes.find((node) => node.id === id)?.type;
export const nodeIndex = (definition: SchemaDefinition, id: string) => definition.nodes.findIndex((node) => node.id === id);

/** The edge as it is written: an exit that needs no name gets none. */
export function writtenEdge(source: string, exit: string, target: string): DefinedEdge {
  return exit === SUCCESS ? { source, target } : { source, target, sourceHandle: exit };
}

/** One edge per exit: a second one replaces the first. */
export function connect(definition: SchemaDefinition, from: Exit, target: string): Patch[] {
  const present = edgeIndex(definition, from);
  if (present < 0) return [{ op: 'insert', path: ['edges'], value: writtenEdge(from.node, from.exit, target) }];
  if (definition.edges[present]?.target === target) return [];
  return [{ op: 'set', path: ['edges', present, 'target'], value: target }];
}

export function disconnect(definition: SchemaDefinition, exits: Exit[]): Patch[] {
  return deleteEdges(exits.map((exit) => edgeIndex(definition, exit)));
}

/** From the back, so that the indexes before them stay true. */
function deleteEdges(indexes: number[]): Patch[] {
  const found = [...new Set(indexes)].filter((index) => index >= 0).sort((a, b) => b - a);
  return found.map((index) => ({ op: 'delete', path: ['edges', index] }));
}

/** An id that is not taken: `fetch`, `fetch_2`. */
export function freeId(wish: string, taken: Set<string>): string {
  const base = wish.replaceAll(/[^\p{L}\p{N}_]+/gu, '_').replace(/^(?=\p{N})/u, '_') || 'node';
  if (!taken.has(base)) return base;
  const stem = base.replace(/_\d+$/, '');
  for (let number = 2; ; number++) if (!taken.has(`${stem}_${number}`)) return `${stem}_${number}`;
}

export interface Adding {
  node: DefinedNode;
  /** Comes from this exit; what was there before goes on behind the new node by `onward`. */
  from?: Exit;
  /** Stands before this node: every edge into it leads to the new node. */
  before?: string;
  /** The exit by which the new node goes on; null: it has none. */
  onward?: string | null;
}

export function addNode(definition: SchemaDefinition, adding: Adding): Patch[] {
  const { node, from, before, onward = SUCCESS } = adding;
  const patches: Patch[] = [{ op: 'insert', path: ['nodes'], at: placeBehind(definition, from?.node ?? before), value: node }];
  if (from !== undefined) {
    const present = edgeIndex(definition, from);
    const target = definition.edges[present]?.target;
    patches.push(...connect(definition, from, node.id));
    if (target !== undefined && onward !== null)
      patches.push({ op: 'insert', path: ['edges'], at: present + 1, value: writtenEdge(node.id, onward, target) });
  }
  if (before !== undefined) {
    definition.edges.forEach((edge, at) => {
      if (edge.target === before) patches.push({ op: 'set', path: ['edges', at, 'target'], value: node.id });
    });
    if (onward !== null) patches.push({ op: 'insert', path: ['edges'], value: writtenEdge(node.id, onward, before) });
  }
  return patches;
}

function placeBehind(definition: SchemaDefinition, id: string | undefined): number | undefined {
  const at = id === undefined ? -1 : nodeIndex(definition, id);
  return at < 0 ? undefined : at + 1;
}

/** With `reconnect`, what led to a deleted node leads to where that node went on to. */
export function deleteNodes(definition: SchemaDefinition, ids: Set<string>, reconnect: boolean): Patch[] {
  const patches: Patch[] = [];
  const gone: number[] = [];
  for (const [at, edge] of definition.edges.entries()) {
    const leaves = ids.has(edge.source);
    if (!leaves && !ids.has(edge.target)) continue;
    const onward = reconnect && !leaves ? followed(definition, edge.target, ids) : null;
    if (onward === null || onward === edge.source) gone.push(at);
    else patches.push({ op: 'set', path: ['edges', at, 'target'], value: onward });
  }
  patches.push(...deleteEdges(gone));
  const nodes = definition.nodes.flatMap((node, at) => (ids.has(node.id) ? [at] : []));
  for (const at of nodes.reverse()) patches.push({ op: 'delete', path: ['nodes', at] });
  return patches;
}

/** Where a deleted node went on to, past others that are deleted too. */
function followed(definition: SchemaDefinition, start: string, ids: Set<string>): string | null {
  const seen = new Set<string>();
  let id: string | null = start;
  while (id !== null && ids.has(id)) {
    if (seen.has(id)) return null;
    seen.add(id);
    id = onwardOf(definition, id);
  }
  return id;
}

function onwardOf(definition: SchemaDefinition, id: string): string | null {
  const leaving = definition.edges.filter((edge) => edge.source === id && edge.sourceHandle !== 'error');
  const main = leaving.find((edge) => ['success', 'true'].includes(exitOf(edge, typeOf(definition, id)))) ?? leaving[0];
  return main?.target ?? null;
}

export interface Renaming {
  patches: Patch[];
  /** Expressions that change. */
  references: number;
  edges: number;
}

/** The id of a node, the ends of its edges, and every `steps.ID` of the schema. */
export function renameNode(definition: SchemaDefinition, from: string, to: string, modeOf: ModeOf): Renaming {
  const at = nodeIndex(definition, from);
  if (at < 0 || from === to) return { patches: [], references: 0, edges: 0 };
  const patches: Patch[] = [{ op: 'set', path: ['nodes', at, 'id'], value: to }];
  let edges = 0;
  definition.edges.forEach((edge, index) => {
    if (edge.source === from) patches.push({ op: 'set', path: ['edges', index, 'source'], value: to });
    if (edge.target === from) patches.push({ op: 'set', path: ['edges', index, 'target'], value: to });
    if (edge.source === from || edge.target === from) edges++;
  });
  const rewritten = rewriteReferences(definition, new Map([[from, to]]), modeOf);
  return { patches: [...patches, ...rewritten.patches], references: rewritten.count, edges };
}

export function rewriteReferences(definition: SchemaDefinition, renames: Map<string, string>, modeOf: ModeOf) {
  const patches: Patch[] = [];
  let count = 0;
  const look = (value: unknown, root: (string | number)[], mode: (path: (string | number)[]) => ReturnType<ModeOf>) => {
    for (const { path, text } of textsIn(value)) {
      const read = mode(path);
      if (read === null) continue;
      const made = rewriteSteps(text, renames, read);
      if (made.count === 0) continue;
      count += made.count;
      patches.push({ op: 'set', path: [...root, ...path], value: made.text });
    }
  };
  for (const [at, node] of definition.nodes.entries()) look(node.config, ['nodes', at, 'config'], (path) => modeOf(node.type, path));
  look(definition.settings, ['settings'], () => 'template');
  look(definition.triggers, ['triggers'], () => 'template');
  return { patches, count };
}

/** Sets or removes one field of a node; an empty object goes with its last field. */
export function setField(definition: SchemaDefinition, id: string, path: (string | number)[], value: unknown): Patch[] {
  const at = nodeIndex(definition, id);
  if (at < 0) return [];
  return setAt(definition.nodes[at], ['nodes', at], path, value);
}

/** The same for the top level: `settings.max_steps`. */
export function setTop(definition: SchemaDefinition, path: (string | number)[], value: unknown): Patch[] {
  return setAt(definition, [], path, value);
}

function setAt(owner: unknown, root: (string | number)[], path: (string | number)[], value: unknown): Patch[] {
  if (value !== undefined) return [{ op: 'set', path: [...root, ...path], value }];
  const keep = lastWithOthers(owner, path);
  return [{ op: 'delete', path: [...root, ...path.slice(0, keep)] }];
}

/** How much of a path to delete, so that no empty object is left behind. */
function lastWithOthers(owner: unknown, path: (string | number)[]): number {
  const holders: unknown[] = [owner];
  for (const key of path.slice(0, -1)) holders.push((holders.at(-1) as Record<string | number, unknown> | undefined)?.[key]);
  let length = path.length;
  while (length > 1 && typeof path[length - 1] === 'string' && Object.keys((holders[length - 1] as object | undefined) ?? {}).length <= 1)
    length--;
  return length;
}
