import type { Json } from '../../api/json';

export interface Retry {
  max_retries?: number;
  min?: string;
  max?: string;
  scale?: string;
  backoff?: number;
}

export const OVERLAPS = ['skip', 'queue', 'allow', 'cancel_previous'] as const;
export type Overlap = (typeof OVERLAPS)[number];
export const CATCH_UPS = ['none', 'last', 'all'] as const;
export type CatchUp = (typeof CATCH_UPS)[number];

interface Repeat {
  overlap?: Overlap;
  catch_up?: CatchUp;
  retry?: Retry;
}

export interface Policy {
  once?: { retry?: Retry };
  periodic?: Repeat & { period: string };
  cron?: Repeat & { expr: string; timezone?: string };
}

export interface Action {
  start_execution?: { schema: string; input?: Json };
  http_callback?: { method?: string; url: string; headers?: { [name: string]: Json }; body?: Json; timeout?: string };
  rabbitmq_publish?: { connection?: string; exchange?: string; routing_key?: string; message?: Json };
  mock?: { [name: string]: Json };
}

export interface Spec {
  start_at?: string | null;
  deadline?: string | null;
  policy: Policy;
  action: Action;
}

export interface Attempt {
  ordinal: number;
  number: number;
  planned_at: string;
  started_at: string;
  finished_at: string;
  outcome: 'success' | 'failed' | 'interrupted';
  error?: { code: string; message: string } | null;
  generation?: number | bigint;
}

export interface ScheduleStatus {
  planned_at: string | null;
  successful: number;
  failed: number;
  interrupted: number;
  consecutive_failures: number;
  attempts: number;
  current: { number: number; planned_at: string; started_at: string } | null;
  last: Attempt | null;
  last_skip: { from: string; until: string; reason: string } | null;
  paused_at: string | null;
  paused_with_schema: boolean;
  finished_at: string | null;
  finished: 'done' | 'out_of_retries' | 'deadline' | null;
}

export interface Schedule {
  id: string;
  meta: { [key: string]: Json };
  spec: Spec;
  status: ScheduleStatus;
  scheduled_at: string | null;
  finished_at: string | null;
  shard?: number | null;
  owner?: string | null;
}

export type ScheduleState = 'finished' | 'paused' | 'running' | 'waiting';

export function stateOf({ status }: Schedule): ScheduleState {
  if (status.finished_at) return 'finished';
  if (status.paused_at) return 'paused';
  return status.current ? 'running' : 'waiting';
}

/** A cron trigger of a schema: written and deleted with its schema only. */
export function ownerSchema(schedule: Pick<Schedule, 'id' | 'meta'>): string | null {
  if (!schedule.id.startsWith('cron:')) return null;
  const name = schedule.meta.schema;
  return typeof name === 'string' ? name : schedule.id.slice(5).split(':')[0] || null;
}

/** The name of the schema that it starts; for a trigger the id is behind `start_execution`. */
export function startsSchema(schedule: Pick<Schedule, 'id' | 'meta' | 'spec'>): string | null {
  return ownerSchema(schedule) ?? schedule.spec.action.start_execution?.schema ?? null;
}

export function zoneOf(policy: Policy): string {
  return policy.cron?.timezone ?? 'UTC';
}
