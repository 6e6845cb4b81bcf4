/** What is copied is YAML text: nodes, the edges between them, and where they stand. It can be pasted into another schema, or into a mail. */
import { type Patch, readValue, type SchemaDefinition, writeDefinition } from './document';
import { freeId } from './gestures';
import type { Point } from './layout';
import type { DefinedEdge, DefinedNode } from './model';
import { type ModeOf, rewriteSteps, textsIn } from './references';

export type Positions = Record<string, Point>;

export function copyText(definition: SchemaDefinition, ids: Set<string>, positions: Positions): string {
  const nodes = definition.nodes
    .filter((node) => ids.has(node.id))
    .map((node) => {
      const position = positions[node.id];
      return position === undefined ? node : { ...node, position: { x: Math.round(position.x), y: Math.round(position.y) } };
    });
  const edges = definition.edges.filter((edge) => ids.has(edge.source) && ids.has(edge.target));
  return writeDefinition({ nodes, edges: edges.length > 0 ? edges : undefined });
}

export interface Copied {
  nodes: DefinedNode[];
  edges: DefinedEdge[];
  positions: Positions;
}

/** Null where the text is no copy of nodes: then it is pasted as text, or not at all. */
export function readCopy(text: string): Copied | null {
  const reading = readValue(text);
  if (!reading.ok || reading.value === null || typeof reading.value !== 'object') return null;
  const whole = reading.value as Record<string, unknown>;
  const listed = Array.isArray(reading.value) ? reading.value : whole.nodes;
  if (!Array.isArray(listed) || listed.length === 0) return null;
  const positions: Positions = {};
  const nodes: DefinedNode[] = [];
  for (const one of listed) {
    const node = nodeOf(one);
    if (node === null) return null;
    const position = (one as { position?: Point }).position;
    if (typeof position?.x === 'number' && typeof position.y === 'number') positions[node.id] = { x: position.x, y: position.y };
    nodes.push(node);
  }
  const edges = Array.isArray(whole.edges) ? whole.edges.flatMap(edgeOf) : [];
  return { nodes, edges, positions };
}

/** Also a node of a React Flow export, whose own fields are under `data`. */
function nodeOf(value: unknown): DefinedNode | null {
  if (value === null || typeof value !== 'object') return null;
  const { position: _position, data, ...outer } = value as Record<string, unknown>;
  const inner = data !== null && typeof data === 'object' ? (data as Record<string, unknown>) : null;
  const type = inner?.type ?? outer.type;
  if (typeof outer.id !== 'string' && typeof outer.id !== 'number') return null;
  if (typeof type !== 'string') return null;
  if (inner === null) return { ...outer, id: String(outer.id), type } as DefinedNode;
  const { label, type: _type, ...own } = inner;
  const name = own.name ?? label;
  return {
    id: String(outer.id),
    type,
    ...(typeof name === 'string' ? { name } : {}),
    ...(own.config ? { config: own.config as Record<string, unknown> } : {}),
  };
}

function edgeOf(value: unknown): DefinedEdge[] {
  if (value === null || typeof value !== 'object') return [];
  const { source, target, sourceHandle } = value as Record<string, unknown>;
  if (source === undefined || target === undefined) return [];
  const handle = sourceHandle === undefined || sourceHandle === null ? {} : { sourceHandle: String(sourceHandle) };
  return [{ source: String(source), target: String(target), ...handle }];
}

export interface Pasting {
  patches: Patch[];
  /** Ids of the nodes that were made, in the order of the copy. */
  ids: string[];
  positions: Positions;
}

/** Ids that are taken get new ones, and so do the edges and expressions inside the copy. A second `start` is left out: a schema has one. */
export function paste(definition: SchemaDefinition, copied: Copied, modeOf: ModeOf): Pasting {
  const taken = new Set(definition.nodes.map((node) => node.id));
  const hasStart = definition.nodes.some((node) => node.type === 'start');
  const nodes = copied.nodes.filter((node) => node.type !== 'start' || !hasStart);
  const renames = new Map<string, string>();
  const made = new Map<string, string>();
  for (const node of nodes) {
    const id = freeId(node.id, taken);
    taken.add(id);
    made.set(node.id, id);
    if (id !== node.id) renames.set(node.id, id);
  }
  const patches: Patch[] = nodes.map((node) => ({
    op: 'insert',
    path: ['nodes'],
    value: renamed(node, made.get(node.id) ?? node.id, renames, modeOf),
  }));
  const positions: Positions = {};
  for (const [old, id] of made) {
    const position = copied.positions[old];
    if (position !== undefined) positions[id] = position;
  }
  for (const edge of copied.edges) {
    const source = made.get(edge.source);
    const target = made.get(edge.target);
    if (source !== undefined && target !== undefined) patches.push({ op: 'insert', path: ['edges'], value: { ...edge, source, target } });
  }
  return { patches, ids: [...made.values()], positions };
}

function renamed(node: DefinedNode, id: string, renames: Map<string, string>, modeOf: ModeOf): DefinedNode {
  if (renames.size === 0 || !node.config) return { ...node, id };
  const config = structuredClone(node.config);
  for (const { path, text } of textsIn(node.config)) {
    const mode = modeOf(node.type, path);
    if (mode === null) continue;
    const holder = path.slice(0, -1).reduce<unknown>((value, key) => (value as Record<string | number, unknown>)[key], config);
    (holder as Record<string | number, unknown>)[path.at(-1) as string | number] = rewriteSteps(text, renames, mode).text;
  }
  return { ...node, id, config };
}
