/** The runs that were looked at in this tab, for `[` and `]`. */
import { useCallback, useEffect } from 'react';
import { go, usePathname } from './navigate';

const PLACE = 'pawl.visited';
const MOST = 50;

function read(): string[] {
  try {
    const list: unknown = JSON.parse(sessionStorage.getItem(PLACE) ?? '[]');
    return Array.isArray(list) ? list.filter((one) => typeof one === 'string') : [];
  } catch {
    // No storage, or not ours: there is nothing to go back to.
    return [];
  }
}

/** A run that was visited before keeps its place, so that going back and forth changes nothing. */
export function withVisit(list: readonly string[], path: string): string[] {
  return list.includes(path) ? [...list] : [...list, path].slice(-MOST);
}

/** Where one step from here leads; from other pages, back is the run visited last. */
export function neighbour(list: readonly string[], here: string, by: 1 | -1): string | undefined {
  const at = list.indexOf(here);
  return at < 0 ? (by < 0 ? list.at(-1) : undefined) : list[at + by];
}

export function useVisited(): (by: 1 | -1) => void {
  const path = usePathname();
  useEffect(() => {
    if (!/^\/runs\/[^/]+$/.test(path)) return;
    try {
      sessionStorage.setItem(PLACE, JSON.stringify(withVisit(read(), path)));
    } catch {
      // Not remembered; the keys then do nothing.
    }
  }, [path]);
  return useCallback(
    (by) => {
      const target = neighbour(read(), path, by);
      if (target) go(target);
    },
    [path],
  );
}
