/** What the overview asks. Each region asks for itself, so each fails for itself. */
import { queryOptions } from '@tanstack/react-query';
import { api } from '../../api/client';
import type { DoctorReport, Execution, Page, ScheduledAction, Schema, Worker } from '../../api/model';
import { absolute, parseTime } from '../../api/time';

export type Window = '1h' | '24h' | '7d';
export const WINDOWS: readonly Window[] = ['1h', '24h', '7d'];

export interface StatusCounts {
  groups: { key: string; count: number; capped: boolean }[];
  total: number;
  capped: boolean;
}

export interface ErrorGroup {
  code: string;
  schema: string;
  node: string;
  count: number;
  unresolved: number;
  last: string;
  last_at: string;
  last_message: string;
}

export interface Bucket {
  from: string;
  started: number;
  open: number;
  completed: number;
  failed: number;
  stopped: number;
  failed_stuck: number;
  p50_ms: number | null;
  p95_ms: number | null;
}
export interface Statistics {
  since: string;
  until: string;
  step_ms: number;
  buckets: Bucket[];
  sampled: number;
}

const POLL = 30_000;

export const overview = {
  counts: () =>
    queryOptions({
      queryKey: ['overview', 'counts'],
      queryFn: ({ signal }) => api.get<StatusCounts>('/api/executions/counts', { group: 'status' }, signal),
    }),
  errors: (window: Window) =>
    queryOptions({
      queryKey: ['overview', 'errors', window],
      queryFn: ({ signal }) =>
        api.get<{ groups: ErrorGroup[]; total: number; capped: boolean }>(
          '/api/executions/errors',
          { since: absolute(window), limit: 8 },
          signal,
        ),
    }),
  letters: () =>
    queryOptions({
      queryKey: ['overview', 'letters'],
      queryFn: ({ signal }) => api.get<{ count: number; capped: boolean }>('/api/dead-letters/count', { open: true }, signal),
    }),
  workers: () =>
    queryOptions({
      queryKey: ['overview', 'workers'],
      queryFn: ({ signal }) => api.get<Page<Worker>>('/api/workers', undefined, signal),
      refetchInterval: POLL,
    }),
  statistics: (window: Window) =>
    queryOptions({
      queryKey: ['overview', 'statistics', window],
      queryFn: ({ signal }) => api.get<Statistics>('/api/stats', { since: absolute(window) }, signal),
      refetchInterval: POLL,
    }),
  due: () =>
    queryOptions({
      queryKey: ['overview', 'due'],
      queryFn: ({ signal }) => api.get<Page<ScheduledAction>>('/api/scheduled-actions', { order: 'due', limit: 10 }, signal),
      refetchInterval: POLL,
    }),
  waits: () =>
    queryOptions({
      queryKey: ['overview', 'waits'],
      queryFn: ({ signal }) =>
        api.get<Page<Execution>>('/api/executions', { status: 'waiting,paused,waiting_debug,pending', view: 'brief', limit: 200 }, signal),
      refetchInterval: POLL,
    }),
  doctor: () =>
    queryOptions({
      queryKey: ['overview', 'doctor'],
      queryFn: ({ signal }) => api.get<DoctorReport>('/api/doctor', undefined, signal),
      enabled: false,
    }),
  examples: () =>
    queryOptions({
      queryKey: ['schemas', { limit: 500 }],
      queryFn: ({ signal }) => api.get<Page<Schema>>('/api/schemas', { limit: 500 }, signal),
      staleTime: 30_000,
    }),
};

/** Roles that a worker must have for runs to move. */
const NEEDED = ['engine', 'timers', 'scheduler', 'reaper'] as const;
const LATE_MS = 60_000;

export function missingRoles(workers: readonly Worker[], now: number): string[] {
  const alive = workers.filter((worker) => now - parseTime(worker.heartbeat_at).ms < LATE_MS);
  return NEEDED.filter((role) => !alive.some((worker) => worker.roles.includes(role)));
}

const OVERDUE_MS = 30_000;

export function isOverdue(action: ScheduledAction, now: number): boolean {
  return action.finished_at === null && action.scheduled_at !== null && now - parseTime(action.scheduled_at).ms > OVERDUE_MS;
}

/** Those that stand still the longest. */
export function longestWaits(runs: readonly Execution[], most: number): Execution[] {
  const since = (run: Execution) => run.entered_at ?? run.created_at;
  return [...runs].sort((a, b) => (since(a) < since(b) ? -1 : 1)).slice(0, most);
}

/** Its id, but the name of the schema for a cron trigger, whose id is made of numbers. */
export function titleOf(action: ScheduledAction): string {
  return action.id.startsWith('cron:') && typeof action.meta.schema === 'string' ? action.meta.schema : action.id;
}

/** When, as it was written. */
export function policyOf(action: ScheduledAction): string {
  const [kind, what] = Object.entries(action.spec.policy)[0] ?? ['', null];
  const inner = typeof what === 'object' && what !== null && !Array.isArray(what) ? what : {};
  const text = inner.expr ?? inner.period;
  return typeof text === 'string' ? text : kind;
}

/** What an action does, in one word or name. */
export function targetOf(action: ScheduledAction): string {
  const [kind, what] = Object.entries(action.spec.action)[0] ?? ['', null];
  const inner = typeof what === 'object' && what !== null && !Array.isArray(what) ? what : {};
  const name = (action.id.startsWith('cron:') ? action.meta.schema : null) ?? inner.schema ?? inner.url ?? inner.routing_key;
  return typeof name === 'string' ? name : kind;
}
