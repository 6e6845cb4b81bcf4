/** What the list of runs asks the server. One filter object for list, counts and bulk actions: their numbers agree. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, path, type Query } from '../../api/client';
import type { Execution, Page, Schema } from '../../api/model';
import { absolute, parseSpan } from '../../api/time';
import type { RunsSearch } from './search';
import type { Selection } from './selection';

/** Names as the API has them; a value that is not set is not there. */
export type RunFilter = { [name: string]: string };

export const PAGE = 100;

export function filterOf(search: RunsSearch): RunFilter {
  const given: { [name: string]: string } = {
    status: search.status.join(),
    schema: search.schema,
    since: search.since,
    until: search.until,
    text: search.q,
    tenant: search.tenant,
    label: search.label,
    created_by: search.by,
    error_code: search.code,
    node: search.node,
    retry_of: search.retry_of,
    forked_from: search.forked_from,
    version: search.version,
    longer_than: search.longer_than,
    finished_since: search.finished_since,
    unresolved: search.unresolved ? 'true' : '',
    trial: search.trial ? 'true' : '',
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== ''));
}

const TIMES = ['since', 'until', 'finished_since'] as const;

/** Relative times are read when the call is made, not when the address was written. */
export function atNow(filter: RunFilter): Query {
  const now = { ...filter };
  for (const name of TIMES) if (now[name]) now[name] = absolute(now[name]);
  return now;
}

export function isFiltered(filter: RunFilter): boolean {
  return Object.keys(filter).length > 0;
}

/** With times that do not move any more: what a person counted is what the action is for. */
export function pinned(search: RunsSearch): Partial<RunsSearch> {
  return Object.fromEntries(TIMES.map((name) => [name, absolute(search[name])]));
}

export function hasRelativeTime(search: RunsSearch): boolean {
  return TIMES.some((name) => parseSpan(search[name]) !== null);
}

export const runList = (filter: RunFilter) =>
  infiniteQueryOptions({
    queryKey: ['runs', filter],
    queryFn: ({ pageParam, signal }) =>
      api.get<Page<Execution>>('/api/executions', { ...atNow(filter), view: 'brief', limit: PAGE, cursor: pageParam }, signal),
    initialPageParam: '',
    getNextPageParam: (last) => last.next ?? undefined,
    refetchOnWindowFocus: false,
  });

export function newestRuns(filter: RunFilter, signal?: AbortSignal): Promise<Page<Execution>> {
  return api.get('/api/executions', { ...atNow(filter), view: 'brief', limit: PAGE }, signal);
}

/** These runs, as far as they are still there. */
export function runsById(ids: readonly string[], signal?: AbortSignal): Promise<Page<Execution>> {
  return api.get('/api/executions', { ids: ids.join(), view: 'brief', limit: ids.length }, signal);
}

export interface Counts {
  group: string;
  groups: { key: string; schema?: string; count: number; capped: boolean }[];
  total: number;
  capped: boolean;
  capped_at: number;
}

export const counts = (filter: RunFilter, group: 'status' | 'schema' | 'node' = 'status') =>
  queryOptions({
    queryKey: ['runs-counts', filter, group],
    queryFn: ({ signal }) => api.get<Counts>('/api/executions/counts', { ...atNow(filter), group }, signal),
    staleTime: 2_000,
  });

export const schemaNames = () =>
  queryOptions({
    queryKey: ['schemas', { limit: 500 }],
    queryFn: ({ signal }) => api.get<Page<Schema>>('/api/schemas', { limit: 500 }, signal),
    staleTime: 30_000,
  });

export type BulkAction = 'pause' | 'resume' | 'stop' | 'retry';
/** What an action is for: the ticked runs, or all that the filter finds. */
export type BulkTarget = { ids: string[] } | { filter: RunFilter };

export type BulkFilter = { [name: string]: unknown };

export interface BulkOutcomes {
  done: number;
  skipped: number;
  conflict: number;
  not_found: number;
  failed: number;
}
export interface BulkAnswer {
  action: BulkAction;
  dry_run: boolean;
  matched: number;
  applicable?: number;
  limit?: number;
  outcomes?: BulkOutcomes;
  next?: string | null;
}

/** What the address says the action is about. Null: about ticked rows, but none is ticked any more, as after a reload. */
export function bulkTarget(of: 'picked' | 'filter', selection: Selection, filter: RunFilter): BulkTarget | null {
  if (of === 'filter') return { filter };
  return selection.kind === 'ids' && selection.ids.size > 0 ? { ids: [...selection.ids] } : null;
}

/** The API takes so many ids in one request. */
const MOST_IDS = 500;

/** The filters of the requests, nearly always one: the same names, flags as flags. */
export function bulkFilters(target: BulkTarget): BulkFilter[] {
  if ('ids' in target) {
    const parts = Math.ceil(target.ids.length / MOST_IDS);
    return Array.from({ length: parts }, (_, at) => ({ ids: target.ids.slice(at * MOST_IDS, (at + 1) * MOST_IDS) }));
  }
  const { unresolved, trial, version, ...rest } = target.filter;
  return [
    {
      ...atNow(rest),
      ...(version ? { version: Number(version) } : {}),
      ...(unresolved ? { unresolved: true } : {}),
      ...(trial ? { trial: true } : {}),
    },
  ];
}

export async function bulkCount(filters: readonly BulkFilter[], action: BulkAction): Promise<{ matched: number; applicable: number }> {
  const parts = await Promise.all(filters.map((filter) => bulk(filter, action, true)));
  return {
    matched: parts.reduce((sum, part) => sum + part.matched, 0),
    applicable: parts.reduce((sum, part) => sum + (part.applicable ?? 0), 0),
  };
}

export function bulk(filter: BulkFilter, action: BulkAction, dryRun: boolean, cursor?: string): Promise<BulkAnswer> {
  return api.post('/api/executions/bulk', bulkBody(filter, action, dryRun, cursor));
}

export function bulkBody(filter: BulkFilter, action: BulkAction, dryRun: boolean, cursor?: string): { [name: string]: unknown } {
  return { filter, action, dry_run: dryRun, ...(cursor ? { cursor } : {}) };
}

export interface StartRequest {
  schema: string;
  version?: number;
  input?: unknown;
  labels?: { [name: string]: string };
  tenant?: string;
  priority?: string;
  debug_mode?: boolean;
  start_at?: string;
  idempotency_key?: string;
}

export function start(request: StartRequest): Promise<Execution> {
  return api.post('/api/executions', request);
}

export const inputOf = (id: string) =>
  queryOptions({
    queryKey: ['run', id, 'initial'],
    queryFn: ({ signal }) => api.get<Execution>(path('/api/executions', id), { include: 'initial' }, signal),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: id !== '',
  });

export const lastRunOf = (schema: string) =>
  queryOptions({
    queryKey: ['runs-last', schema],
    queryFn: async ({ signal }) =>
      (await api.get<Page<Execution>>('/api/executions', { schema, limit: 1, view: 'brief' }, signal)).items[0] ?? null,
    enabled: schema !== '',
    staleTime: 5_000,
  });
