/** Undo and redo: one entry per gesture, typing in one place joined, bounded by number and size. Never changed in place. */
export interface Snapshot {
  text: string;
  /** What else belongs to the moment: positions, notes, groups. Compared by identity. */
  layout: unknown;
  layoutSize: number;
}

interface Entry {
  snapshot: Snapshot;
  join: string | null;
  at: number;
}

export interface History {
  past: Entry[];
  present: Entry;
  future: Entry[];
}

export const JOIN_MS = 800;
export const MOST_ENTRIES = 200;
export const MOST_BYTES = 32 * 1024 * 1024;

const bytes = (entry: Entry) => 2 * entry.snapshot.text.length + entry.snapshot.layoutSize;

export function startHistory(snapshot: Snapshot): History {
  return { past: [], present: { snapshot, join: null, at: 0 }, future: [] };
}

/** `join`: names the place that is typed in; null for a gesture, which stands alone. */
export function record(history: History, snapshot: Snapshot, join: string | null, at: number): History {
  const { present } = history;
  if (snapshot.text === present.snapshot.text && snapshot.layout === present.snapshot.layout) return history;
  const entry = { snapshot, join, at };
  const joined = join !== null && present.join === join && at - present.at < JOIN_MS && history.future.length === 0;
  if (joined) return { past: history.past, present: entry, future: [] };
  return { past: bounded([...history.past, present]), present: entry, future: [] };
}

function bounded(past: Entry[]): Entry[] {
  let size = 0;
  let first = past.length;
  while (first > 0 && past.length - first < MOST_ENTRIES) {
    size += bytes(past[first - 1] as Entry);
    if (size > MOST_BYTES) break;
    first--;
  }
  return first === 0 ? past : past.slice(first);
}

export function undo(history: History): History {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  return { past: history.past.slice(0, -1), present: { ...before, join: null }, future: [history.present, ...history.future] };
}

export function redo(history: History): History {
  const [next, ...rest] = history.future;
  if (next === undefined) return history;
  return { past: [...history.past, history.present], present: { ...next, join: null }, future: rest };
}
