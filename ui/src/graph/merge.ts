/** Base, theirs, yours: what only one side changed is taken, what both changed differently is asked for, node by node. */

import { edgesByKey, essence, same, topOf } from './difference';
import type { Patch, SchemaDefinition } from './document';
import { nodeIndex } from './gestures';
import type { DefinedEdge, DefinedNode } from './model';

export type MergeSide = 'yours' | 'theirs';
export type MergePart = 'node' | 'edge' | 'top';

export interface MergeItem {
  part: MergePart;
  /** Id of a node, `source exit` of an edge, name of a field. */
  key: string;
  base: unknown;
  theirs: unknown;
  yours: unknown;
  /** `both`: changed on both sides in the same way. */
  kind: 'yours' | 'theirs' | 'both' | 'conflict';
}

export function compareThree(base: SchemaDefinition, theirs: SchemaDefinition, yours: SchemaDefinition): MergeItem[] {
  const nodes = items('node', nodesById(base), nodesById(theirs), nodesById(yours), essence as (value: unknown) => unknown);
  const edges = items('edge', edgesByKey(base), edgesByKey(theirs), edgesByKey(yours), (edge) => (edge as DefinedEdge).target);
  const top = items('top', entries(base), entries(theirs), entries(yours), (value) => value);
  return [...top, ...nodes, ...edges];
}

const nodesById = (definition: SchemaDefinition) => new Map<string, DefinedNode>(definition.nodes.map((node) => [node.id, node]));
const entries = (definition: SchemaDefinition) => new Map(Object.entries(topOf(definition)));

function items(
  part: MergePart,
  base: Map<string, unknown>,
  theirs: Map<string, unknown>,
  yours: Map<string, unknown>,
  of: (value: unknown) => unknown,
): MergeItem[] {
  const keys = new Set([...base.keys(), ...theirs.keys(), ...yours.keys()]);
  const essenceOf = (value: unknown) => (value === undefined ? undefined : of(value));
  const found: MergeItem[] = [];
  for (const key of keys) {
    const three = { base: base.get(key), theirs: theirs.get(key), yours: yours.get(key) };
    const [b, t, y] = [essenceOf(three.base), essenceOf(three.theirs), essenceOf(three.yours)];
    if (same(b, t) && same(b, y)) continue;
    const kind = same(t, y) ? 'both' : same(b, t) ? 'yours' : same(b, y) ? 'theirs' : 'conflict';
    found.push({ part, key, ...three, kind });
  }
  return found;
}

/** Their text with your changes in it: `choose` says which side a conflict takes. */
export function mergePatches(theirs: SchemaDefinition, merge: MergeItem[], choose: (item: MergeItem) => MergeSide): Patch[] {
  const mine = merge.filter((item) => item.kind === 'yours' || (item.kind === 'conflict' && choose(item) === 'yours'));
  const sets: Patch[] = [];
  const edgesGone: number[] = [];
  const nodesGone: number[] = [];
  for (const item of mine) {
    if (item.part === 'top')
      sets.push(item.yours === undefined ? { op: 'delete', path: [item.key] } : { op: 'set', path: [item.key], value: item.yours });
    if (item.part === 'node') place(item, 'nodes', nodeIndex(theirs, item.key), sets, nodesGone);
    if (item.part === 'edge') place(item, 'edges', theirs.edges.indexOf(item.theirs as DefinedEdge), sets, edgesGone);
  }
  return [...sets, ...removals('edges', edgesGone), ...removals('nodes', nodesGone)];
}

function place(item: MergeItem, list: 'nodes' | 'edges', at: number, sets: Patch[], gone: number[]) {
  if (item.yours === undefined) {
    if (at >= 0) gone.push(at);
  } else if (at < 0) sets.push({ op: 'insert', path: [list], value: item.yours });
  else sets.push({ op: 'set', path: [list, at], value: item.yours });
}

function removals(list: 'nodes' | 'edges', indexes: number[]): Patch[] {
  return [...indexes].sort((a, b) => b - a).map((at) => ({ op: 'delete', path: [list, at] }));
}
