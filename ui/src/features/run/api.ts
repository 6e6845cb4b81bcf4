/** Calls that only this screen makes. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, path } from '../../api/client';
import { asApiError } from '../../api/error';
import type { Json } from '../../api/json';
import type { Change, Definition, Execution, Page, Schema, Step } from '../../api/model';
import { hasEnded } from '../../api/queries';

export interface RunDefinition {
  schema_id: string;
  schema: string;
  version: number;
  definition: Definition;
}

export interface ContextView {
  seq: number;
  view: 'difference' | 'before' | 'after';
  pointer: string;
  bytes: number;
  value?: Json;
  difference?: Change[];
  cut: string[];
  left_out: number;
}

export interface LogLine {
  id: number;
  seq: number;
  node_id: string;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  at: string;
}

export interface Parting {
  first_divergence: {
    index: number;
    left: { seq: number; node_id: string } | null;
    right: { seq: number; node_id: string } | null;
  } | null;
}

export interface Signal {
  id: string;
  name: string;
  payload: Json;
  received_at: string;
  consumed_by: number | null;
}

const of = (id: string, ...parts: (string | number)[]) => path('/api/executions', id, ...parts);
/** A step never changes. Few are kept: their payloads can be large. */
const FIXED = { staleTime: Number.POSITIVE_INFINITY, gcTime: 60_000 };

export const runQueries = {
  definition: (id: string) =>
    queryOptions({
      queryKey: ['run', id, 'definition'],
      queryFn: ({ signal }) => api.get<RunDefinition>(of(id, 'definition'), undefined, signal),
      staleTime: Number.POSITIVE_INFINITY,
      retry: (count, thrown) => count < 3 && asApiError(thrown).offline,
    }),
  /** Where people put the nodes; without an answer the graph is laid out by itself. */
  positions: (schema: string | undefined) =>
    queryOptions({
      queryKey: ['schema', schema, 'layout'],
      queryFn: ({ signal }) =>
        api.get<{ positions: Record<string, { x: number; y: number }> }>(path('/api/schemas', schema ?? '', 'layout'), undefined, signal),
      enabled: schema !== undefined && schema !== '',
      staleTime: 60_000,
      retry: false,
    }),
  step: (id: string, seq: number) =>
    queryOptions({
      queryKey: ['step', id, seq],
      queryFn: ({ signal }) => api.get<Step>(of(id, 'steps', seq), undefined, signal),
      enabled: seq > 0,
      ...FIXED,
    }),
  context: (id: string, seq: number, view: ContextView['view'], pointer = '', max_bytes = 65_536) =>
    queryOptions({
      queryKey: ['step', id, seq, 'context', view, pointer, max_bytes],
      queryFn: ({ signal }) => api.get<ContextView>(of(id, 'steps', seq, 'context'), { view, pointer, max_bytes }, signal),
      enabled: seq > 0 || view === 'after',
      ...FIXED,
    }),
  /** Where it parts from another run, without what differs there. */
  partsFrom: (id: string, other: string) =>
    queryOptions({
      queryKey: ['run', id, 'parts-from', other],
      // Of its pairs nothing is kept.
      queryFn: async ({ signal }) => (await api.get<Parting>(of(id, 'diff'), { with: other, view: 'outline' }, signal)).first_divergence,
      enabled: other !== '',
      ...FIXED,
    }),
  /** What was forked from it, newest first. */
  forks: (id: string) =>
    queryOptions({
      queryKey: ['run', id, 'forks'],
      queryFn: ({ signal }) => api.get<Page<Execution>>('/api/executions', { forked_from: id, limit: 10, view: 'brief' }, signal),
      staleTime: 10_000,
    }),
  initial: (id: string) =>
    queryOptions({
      queryKey: ['run', id, 'initial'],
      queryFn: ({ signal }) => api.get<Execution>(of(id), { include: 'initial' }, signal),
      ...FIXED,
    }),
  logs: (id: string, level: string, node: string) =>
    infiniteQueryOptions({
      queryKey: ['run', id, 'logs', level, node],
      queryFn: ({ signal, pageParam }) =>
        api.get<Page<LogLine>>(of(id, 'logs'), { level, node, order: 'desc', limit: 200, cursor: pageParam }, signal),
      initialPageParam: '',
      getNextPageParam: (last: Page<LogLine>) => last.next,
    }),
  signals: (id: string) =>
    queryOptions({
      queryKey: ['run', id, 'signals'],
      queryFn: ({ signal }) => api.get<Page<Signal>>(of(id, 'signals'), { limit: 200 }, signal),
    }),
  /** For the picker of a version. */
  versions: (schema: string) =>
    queryOptions({
      queryKey: ['schema', schema, 'latest'],
      queryFn: ({ signal }) => api.get<Schema>(path('/api/schemas', schema), undefined, signal),
      retry: false,
    }),
};

/** The most that the server gives of a context. */
const WHOLE = 32 << 20;

/** Of the difference its changes. */
export async function wholeContext(id: string, seq: number, view: ContextView['view'], pointer: string): Promise<Json> {
  const { value, difference } = await api.get<ContextView>(of(id, 'steps', seq, 'context'), { view, pointer, max_bytes: WHOLE });
  return value ?? (difference as unknown as Json) ?? null;
}

export const control = (id: string, verb: 'pause' | 'resume' | 'stop' | 'debug') =>
  api.post<Execution>(of(id, verb), verb === 'debug' ? undefined : {});
export const carryOn = (id: string, body: { mode: Json; variables?: { [name: string]: Json }; expect_seq: number }) =>
  api.post<Execution>(of(id, 'continue'), body);
export const fork = (id: string, body: { [field: string]: Json }) => api.post<Execution>(of(id, 'fork'), body);
export const retry = (id: string, body: { [field: string]: Json }) => api.post<Execution>(of(id, 'retry'), body);
export const startRun = (body: { [field: string]: Json }) => api.post<Execution>('/api/executions', body);
export const sendSignal = (id: string, name: string, payload: Json, key: string) =>
  api.post<unknown>(of(id, 'signals', name), payload, { headers: { 'idempotency-key': key } });
export const addNote = (id: string, text: string) => api.post<unknown>(of(id, 'notes'), { text });

export const isOpen = (run: Execution) => !hasEnded(run);
