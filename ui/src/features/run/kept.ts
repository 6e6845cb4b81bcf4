/** Payloads of steps that are kept for going back and forth: so many steps, so many bytes, the longest unused go first. */
import type { Query, QueryClient } from '@tanstack/react-query';
import { write } from '../../api/json';

export const STEPS_KEPT = 50;
export const BYTES_KEPT = 8_000_000;

export interface Kept {
  /** `RUN:STEP`: the parts of one step are kept or go together. */
  step: string;
  bytes: number;
  usedAt: number;
  /** It is on the screen: it stays. */
  shown: boolean;
}

/** Which of them go. */
export function surplus<T extends Kept>(all: readonly T[], steps = STEPS_KEPT, bytes = BYTES_KEPT): T[] {
  const groups = new Map<string, { parts: T[]; bytes: number; usedAt: number; shown: boolean }>();
  for (const one of all) {
    const group = groups.get(one.step) ?? { parts: [], bytes: 0, usedAt: 0, shown: false };
    group.parts.push(one);
    group.bytes += one.bytes;
    group.usedAt = Math.max(group.usedAt, one.usedAt);
    group.shown ||= one.shown;
    groups.set(one.step, group);
  }
  const order = [...groups.values()].sort((a, b) => Number(b.shown) - Number(a.shown) || b.usedAt - a.usedAt);
  let [count, sum] = [0, 0];
  return order.flatMap((group) => {
    count += 1;
    sum += group.bytes;
    return group.shown || (count <= steps && sum <= bytes) ? [] : group.parts;
  });
}

/** Length of its text, counted once. */
const sizes = new WeakMap<object, number>();
function sizeOf(data: unknown): number {
  if (typeof data !== 'object' || data === null) return 0;
  const known = sizes.get(data);
  if (known !== undefined) return known;
  const size = write(data).length;
  sizes.set(data, size);
  return size;
}

/** Watches the cache while a run is on the screen. */
export function boundSteps(client: QueryClient): () => void {
  const cache = client.getQueryCache();
  let due = 0;
  const sweep = () => {
    due = 0;
    const all = cache.findAll({ queryKey: ['step'] }).map((query) => ({ query, ...keptOf(query) }));
    for (const { query } of surplus(all)) cache.remove(query);
  };
  const stop = cache.subscribe(({ type, query }) => {
    if (type === 'updated' && query.queryKey[0] === 'step' && due === 0) due = window.setTimeout(sweep, 500);
  });
  return () => {
    window.clearTimeout(due);
    stop();
  };
}

function keptOf(query: Query): Kept {
  const { queryKey, state } = query;
  return {
    step: `${queryKey[1]}:${queryKey[2]}`,
    bytes: sizeOf(state.data),
    usedAt: state.dataUpdatedAt,
    shown: query.getObserversCount() > 0 || state.fetchStatus === 'fetching',
  };
}
