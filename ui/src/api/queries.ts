/** Query keys and the calls that more than one feature makes. Calls of one feature only stand beside it. */
import { QueryClient, queryOptions, replaceEqualDeep, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { api, path, type Query } from './client';
import { asApiError } from './error';
import { type LiveEvent, live, type RunTopic, type Topic } from './live';
import type { Execution, Explanation, Me, NodeType, Page, Schema } from './model';
import { setServerTime } from './time';

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      // Answers of an earlier visit are shown at once and read again behind them.
      staleTime: 1_000,
      gcTime: 5 * 60_000,
      retry: (failures, thrown) => failures < 3 && asApiError(thrown).offline,
      retryDelay: (failures) => Math.min(30_000, 1_000 * 2 ** failures) * (0.75 + Math.random() / 2),
      refetchOnWindowFocus: true,
      networkMode: 'always',
    },
    mutations: { retry: false, networkMode: 'always' },
  },
});

const ENDED = new Set(['completed', 'failed', 'stopped', 'failed_stuck']);

export function hasEnded(run: Pick<Execution, 'status'>): boolean {
  return ENDED.has(run.status);
}

/** An answer that was under way when the stream told of a newer state does not take the page back: nothing would come after it. */
export function newerRun(old: unknown, next: unknown): unknown {
  const versionOf = (run: unknown) => (run as Partial<Execution> | undefined)?.event_version ?? 0;
  return versionOf(old) > versionOf(next) ? old : replaceEqualDeep(old, next);
}

/** Also says what time it is there: countdowns are about the server's timers. */
async function readMe({ signal }: { signal: AbortSignal }): Promise<Me> {
  const me = await api.get<Me>('/api/me', undefined, signal);
  setServerTime(me.server_time);
  return me;
}

export const queries = {
  me: () => queryOptions({ queryKey: ['me'], queryFn: readMe, staleTime: 60_000 }),
  runs: (filter: Query) =>
    queryOptions({ queryKey: ['runs', filter], queryFn: ({ signal }) => api.get<Page<Execution>>('/api/executions', filter, signal) }),
  run: (id: string) =>
    queryOptions({
      queryKey: ['run', id],
      queryFn: ({ signal }) => api.get<Execution>(path('/api/executions', id), undefined, signal),
      structuralSharing: newerRun,
      // A run that has ended never changes (only its newest retry, which is told by its own page).
      staleTime: ({ state }) => (state.data && hasEnded(state.data) ? 30_000 : 1_000),
    }),
  /** With the `event_version` that is shown: a newer state is another answer. */
  explain: (id: string, version?: number) =>
    queryOptions({
      queryKey: ['run', id, 'explain', version ?? 'now'],
      queryFn: ({ signal }) => api.get<Explanation>(path('/api/executions', id, 'explain'), undefined, signal),
    }),
  /** The last good run before this one, else the last good one at all; null if there is none. */
  lastGood: (run: Pick<Execution, 'id' | 'schema' | 'created_at'>) =>
    queryOptions({
      queryKey: ['run', run.id, 'last-good'],
      queryFn: async ({ signal }) => {
        const filter = { schema: run.schema, status: 'completed', limit: 2, view: 'brief' };
        for (const until of [run.created_at, undefined]) {
          const { items } = await api.get<Page<Execution>>('/api/executions', { ...filter, until }, signal).catch(noneOfMissing);
          const found = items.find((one) => one.id !== run.id);
          if (found !== undefined) return found;
        }
        return null;
      },
      staleTime: 30_000,
    }),
  schemas: (query: Query = {}) =>
    queryOptions({ queryKey: ['schemas', query], queryFn: ({ signal }) => api.get<Page<Schema>>('/api/schemas', query, signal) }),
  /** A numbered version never changes; without a number it is the latest. */
  schema: (name: string, version?: number) =>
    queryOptions({
      queryKey: ['schema', name, version ?? 'latest'],
      queryFn: ({ signal }) => api.get<Schema>(path('/api/schemas', name), { version }, signal),
      staleTime: version === undefined ? 1_000 : Number.POSITIVE_INFINITY,
    }),
  nodeTypes: () =>
    queryOptions({
      queryKey: ['node-types'],
      queryFn: ({ signal }) => api.get<Page<NodeType>>('/api/node-types', undefined, signal),
      staleTime: 10 * 60_000,
    }),
};

/** Runs stay when their schema is deleted, but cannot be asked for by it any more. */
function noneOfMissing(thrown: unknown): Pick<Page<Execution>, 'items'> {
  if (asApiError(thrown).status === 404) return { items: [] };
  throw thrown;
}

/** Events of the stream while the component is shown. The handler may change between renders; the topics are compared by value. */
export function useLiveEvents(topics: Topic[], runs: RunTopic[], on: (event: LiveEvent) => void): void {
  const handler = useRef(on);
  handler.current = on;
  const key = JSON.stringify([topics, runs.map((run) => run.id)]);
  const wanted = useRef({ topics, runs });
  wanted.current = { topics, runs };
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when the topics are others
  useEffect(() => {
    if (wanted.current.topics.length === 0 && wanted.current.runs.length === 0) return;
    return live.watch(wanted.current.topics, wanted.current.runs, (event) => handler.current(event));
  }, [key]);
}

/** Reads again what stands under `keys` when one of the topics says so; calls are joined to one per half a second. */
export function useLiveQueries(topics: Topic[], keys: readonly (readonly unknown[])[]): void {
  const client = useQueryClient();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useLiveEvents(topics, [], () => {
    if (timer.current !== undefined) return;
    timer.current = setTimeout(() => {
      timer.current = undefined;
      for (const queryKey of keys) void client.invalidateQueries({ queryKey });
    }, 500);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
