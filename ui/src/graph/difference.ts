/** What differs between two definitions, by node and by edge; and what follows from two people's changes of one. Positions are no difference. */
import type { SchemaDefinition } from './document';
import { exitOf, typeOf } from './gestures';
import type { DefinedEdge, DefinedNode } from './model';

export interface FieldChange {
  path: string;
  before: unknown;
  after: unknown;
}

export interface NodeChange {
  id: string;
  kind: 'added' | 'removed' | 'changed';
  fields: FieldChange[];
}

export interface EdgeChange {
  key: string;
  kind: 'added' | 'removed' | 'changed';
  before?: DefinedEdge;
  after?: DefinedEdge;
}

export interface DefinitionDifference {
  nodes: NodeChange[];
  edges: EdgeChange[];
  /** name, description, settings, triggers … */
  top: FieldChange[];
}

export function compareDefinitions(before: SchemaDefinition, after: SchemaDefinition): DefinitionDifference {
  return { nodes: nodeChanges(before, after), edges: edgeChanges(before, after), top: topChanges(before, after) };
}

export const isSame = (one: DefinitionDifference) => one.nodes.length + one.edges.length + one.top.length === 0;

function nodeChanges(before: SchemaDefinition, after: SchemaDefinition): NodeChange[] {
  const old = new Map(before.nodes.map((node) => [node.id, node]));
  const changes: NodeChange[] = [];
  for (const node of after.nodes) {
    const was = old.get(node.id);
    old.delete(node.id);
    if (was === undefined) changes.push({ id: node.id, kind: 'added', fields: [] });
    else {
      const fields = fieldChanges(essence(was), essence(node));
      if (fields.length > 0) changes.push({ id: node.id, kind: 'changed', fields });
    }
  }
  for (const id of old.keys()) changes.push({ id, kind: 'removed', fields: [] });
  return changes;
}

/** Without what only matters for drawing, and without fields that say nothing. */
export function essence(node: DefinedNode): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(node)) {
    if (key === 'position' || value === null || value === undefined) continue;
    if (key === 'config' && Object.keys(value as object).length === 0) continue;
    made[key] = value;
  }
  return made;
}

const TOP_SKIPPED = new Set(['nodes', 'edges']);

function topChanges(before: SchemaDefinition, after: SchemaDefinition): FieldChange[] {
  return fieldChanges(topOf(before), topOf(after));
}

export function topOf(definition: SchemaDefinition): Record<string, unknown> {
  return Object.fromEntries(Object.entries(definition).filter(([key, value]) => !TOP_SKIPPED.has(key) && !isEmpty(value)));
}

const isEmpty = (value: unknown) =>
  value === null || value === undefined || (typeof value === 'object' && Object.keys(value as object).length === 0) || value === '';

/** The exit says which edge it is: one exit has at most one. */
export function edgeKey(definition: SchemaDefinition, edge: DefinedEdge): string {
  return `${edge.source}\u0000${exitOf(edge, typeOf(definition, edge.source))}`;
}

function edgeChanges(before: SchemaDefinition, after: SchemaDefinition): EdgeChange[] {
  const old = edgesByKey(before);
  const changes: EdgeChange[] = [];
  for (const [key, edge] of edgesByKey(after)) {
    const was = old.get(key);
    old.delete(key);
    if (was === undefined) changes.push({ key, kind: 'added', after: edge });
    else if (was.target !== edge.target) changes.push({ key, kind: 'changed', before: was, after: edge });
  }
  for (const [key, edge] of old) changes.push({ key, kind: 'removed', before: edge });
  return changes;
}

export function edgesByKey(definition: SchemaDefinition): Map<string, DefinedEdge> {
  const types = new Map(definition.nodes.map((node) => [node.id, node.type]));
  return new Map(definition.edges.map((edge) => [`${edge.source}\u0000${exitOf(edge, types.get(edge.source))}`, edge]));
}

export function fieldChanges(before: unknown, after: unknown, path = ''): FieldChange[] {
  if (same(before, after)) return [];
  if (!isRecord(before) || !isRecord(after)) return [{ path, before, after }];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return keys.flatMap((key) => fieldChanges(before[key], after[key], path === '' ? key : `${path}.${key}`));
}

const isRecord = (value: unknown): value is Record<string, unknown> => value !== null && typeof value === 'object' && !Array.isArray(value);

/** Equal as data: the order of the keys says nothing. */
export function same(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (Array.isArray(one)) return Array.isArray(other) && one.length === other.length && one.every((value, at) => same(value, other[at]));
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  return keys.length === Object.keys(other).length && keys.every((key) => Object.hasOwn(other, key) && same(one[key], other[key]));
}
