/** The rows of the list: they change in place; runs that are new wait until they are asked for, so that nothing moves under the pointer. */
import { type InfiniteData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { LiveEvent } from '../../api/live';
import type { Execution, Page } from '../../api/model';
import { useLiveEvents } from '../../api/queries';
import { newestRuns, type RunFilter, runList, runsById } from './calls';

type Pages = InfiniteData<Page<Execution>, string>;

/** The same pages with newer states of their rows. A row never becomes older. */
export function patched(pages: Pages, fresh: ReadonlyMap<string, Execution>): Pages {
  let changed = false;
  const next = pages.pages.map((page) => {
    const items = page.items.map((row) => {
      const other = fresh.get(row.id);
      if (!other || other.event_version <= row.event_version) return row;
      changed = true;
      return other;
    });
    return changed ? { ...page, items } : page;
  });
  return changed ? { ...pages, pages: next } : pages;
}

/** Of the newest runs that fit the filter: those that are not in the list and are newer than its first row. */
export function unseen(known: ReadonlySet<string>, first: string | undefined, newest: readonly Execution[]): Execution[] {
  return newest.filter((run) => !known.has(run.id) && (first === undefined || run.id > first));
}

const LOOK_MS = 1_000;
const MOST_IDS = 500;

export function useRunRows(filter: RunFilter) {
  const client = useQueryClient();
  const options = runList(filter);
  const query = useInfiniteQuery(options);
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const [waiting, setWaiting] = useState<Execution[]>([]);
  const latest = useRef(rows);
  latest.current = rows;
  const key = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another list
  useEffect(() => setWaiting([]), [key]);

  const look = useCallback(
    async (ids: readonly string[] | null) => {
      const known = new Set(latest.current.map((row) => row.id));
      const asked = (ids ?? [...known]).filter((id) => known.has(id)).slice(0, MOST_IDS);
      const [fresh, newest] = await Promise.all([asked.length > 0 ? runsById(asked) : null, newestRuns(filter)]);
      const states = new Map([...newest.items, ...(fresh?.items ?? [])].map((run) => [run.id, run]));
      client.setQueryData<Pages>(options.queryKey, (pages) => pages && patched(pages, states));
      // An empty list has nothing that could move.
      if (known.size === 0 && newest.items.length > 0) await client.invalidateQueries({ queryKey: options.queryKey });
      else setWaiting(unseen(known, latest.current[0]?.id, newest.items));
      await client.invalidateQueries({ queryKey: ['runs-counts'] });
    },
    [client, filter, options.queryKey],
  );
  useLooks(look, query.isSuccess);

  const show = useCallback(async () => {
    setWaiting([]);
    await client.resetQueries({ queryKey: options.queryKey });
  }, [client, options.queryKey]);
  return { query, rows, waiting: waiting.length, waitingFull: waiting.length >= 100, show };
}

/** Events of a busy server are joined: one look a second, and never two at once. */
function useLooks(look: (ids: readonly string[] | null) => Promise<void>, ready: boolean): void {
  const due = useRef<Set<string> | 'all' | null>(null);
  const busy = useRef(false);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => () => clearTimeout(timer.current), []);
  const run = useCallback(() => {
    if (busy.current || due.current === null) return;
    const ids = due.current;
    due.current = null;
    busy.current = true;
    // A failed look is told by the banner and the counts; the next event looks again.
    latest
      .current(ids === 'all' ? null : [...ids])
      .catch(() => undefined)
      .finally(() => {
        timer.current = setTimeout(() => {
          busy.current = false;
          run();
        }, LOOK_MS);
      });
  }, []);
  useLiveEvents(['executions'], [], (event: LiveEvent) => {
    if (!ready) return;
    if (event.type === 'runs' && !event.more && due.current !== 'all') due.current = new Set([...(due.current ?? []), ...event.ids]);
    else due.current = 'all';
    run();
  });
}
