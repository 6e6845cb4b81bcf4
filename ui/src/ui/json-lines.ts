/** A JSON value as the lines of a tree; pure. Only open containers are walked, so a value of any size costs what is shown. */

import { isObject, type Json } from '../api/json';
import type { Change } from '../api/model';

export interface Line {
  pointer: string;
  depth: number;
  /** Name or index in its parent; null for the root. */
  name: string | null;
  value: Json;
  /** Members, for containers. */
  count: number | null;
  open: boolean;
  /** Instead of a value: so many members of a long list are not shown yet. */
  more?: number;
}

/** Of a longer text a line shows the beginning. */
export const LONG = 400;

/** Members of one container shown at once. */
export const SLICE = 1000;

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

export function isContainer(value: Json): value is Json[] | { [key: string]: Json } {
  return typeof value === 'object' && value !== null;
}

/** What is open before anybody has clicked: the first two levels, if they are small. */
export function openAtFirst(value: Json, depth: number): boolean {
  const count = Array.isArray(value) ? value.length : isObject(value) ? Object.keys(value).length : 0;
  return depth === 0 || (depth < 3 && count <= 24);
}

export function jsonLines(root: Json, toggled: ReadonlyMap<string, boolean>, slices: ReadonlyMap<string, number>): Line[] {
  const lines: Line[] = [];
  walk(root, '', null, 0);
  return lines;

  function walk(value: Json, pointer: string, name: string | null, depth: number): void {
    if (!isContainer(value)) {
      lines.push({ pointer, depth, name, value, count: null, open: false });
      return;
    }
    const keys = Array.isArray(value) ? null : Object.keys(value);
    const count = keys ? keys.length : (value as Json[]).length;
    const open = count > 0 && (toggled.get(pointer) ?? openAtFirst(value, depth));
    lines.push({ pointer, depth, name, value, count, open });
    if (!open) return;
    const shown = Math.min(count, slices.get(pointer) ?? SLICE);
    for (let at = 0; at < shown; at += 1) {
      const key = keys ? (keys[at] ?? '') : String(at);
      const member = keys ? (value as { [key: string]: Json })[key] : (value as Json[])[at];
      walk(member ?? null, `${pointer}/${escapePointer(key)}`, key, depth + 1);
    }
    if (shown < count)
      lines.push({ pointer: `${pointer}/…`, depth: depth + 1, name: null, value: null, count: null, open: false, more: count - shown });
  }
}

/** The path as an expression says it: `steps.fetch.output.items[0]`. */
export function expressionPath(pointer: string): string {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  return parts
    .map((part, at) =>
      /^\d+$/.test(part) ? `[${part}]` : /^[A-Za-z_]\w*$/.test(part) ? (at === 0 ? part : `.${part}`) : `[${JSON.stringify(part)}]`,
    )
    .join('');
}

/** Marks of a tree by pointer: what changed, and which containers have a change in them. */
export function marksOf(changes: readonly Change[]): Map<string, 'added' | 'removed' | 'changed' | 'inside'> {
  const marks = new Map<string, 'added' | 'removed' | 'changed' | 'inside'>();
  for (const change of changes) {
    marks.set(change.path, change.op);
    for (let at = change.path.lastIndexOf('/'); at >= 0; at = change.path.lastIndexOf('/', at - 1)) {
      const above = change.path.slice(0, at);
      if (!marks.has(above)) marks.set(above, 'inside');
      if (at === 0) break;
    }
  }
  return marks;
}
