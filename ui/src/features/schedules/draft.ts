/** The form of a schedule: texts as they are typed, and the way to a specification and back. */
import { isObject, type Json, read, write } from '../../api/json';
import type { Action, CatchUp, Overlap, Policy, Retry, Spec } from './model';

export interface Draft {
  when: 'once' | 'periodic' | 'cron';
  /** As `datetime-local` has it, in local time. */
  start: string;
  deadline: string;
  period: string;
  expr: string;
  zone: string;
  overlap: Overlap;
  catchUp: CatchUp;
  retries: string;
  min: string;
  max: string;
  scale: string;
  backoff: string;
  what: 'start_execution' | 'http_callback' | 'rabbitmq_publish';
  schema: string;
  input: string;
  method: string;
  url: string;
  headers: string;
  body: string;
  timeout: string;
  connection: string;
  exchange: string;
  routingKey: string;
  message: string;
}
export type DraftField = keyof Draft;
/** What is wrong with a field before the engine sees it; the values of `schedules.bad_…`. */
export type Faults = { [F in DraftField]?: { kind: 'bad_json' | 'bad_object' | 'bad_number'; message: string } };

export const EMPTY: Draft = {
  when: 'cron',
  start: '',
  deadline: '',
  period: '1h',
  expr: '0 9 * * MON-FRI',
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC',
  overlap: 'skip',
  catchUp: 'last',
  retries: '0',
  min: '1s',
  max: '1h',
  scale: '1s',
  backoff: '2',
  what: 'start_execution',
  schema: '',
  input: '',
  method: 'POST',
  url: '',
  headers: '',
  body: '',
  timeout: '',
  connection: '',
  exchange: '',
  routingKey: '',
  message: '',
};

async function json(draft: Draft, field: DraftField, faults: Faults, object = false): Promise<Json | undefined> {
  const text = draft[field].trim();
  if (text === '') return undefined;
  try {
    const value = read(text);
    if (!object || isObject(value)) return value;
    faults[field] = { kind: 'bad_object', message: '' };
  } catch (thrown) {
    faults[field] = { kind: 'bad_json', message: thrown instanceof Error ? thrown.message : String(thrown) };
  }
  return undefined;
}

function number(draft: Draft, field: DraftField, faults: Faults): number | undefined {
  const text = draft[field].trim();
  if (text === '') return undefined;
  const value = Number(text);
  if (Number.isFinite(value)) return value;
  faults[field] = { kind: 'bad_number', message: '' };
  return undefined;
}

function retryOf(draft: Draft, faults: Faults): Retry {
  return {
    max_retries: number(draft, 'retries', faults),
    min: draft.min.trim() || undefined,
    max: draft.max.trim() || undefined,
    scale: draft.scale.trim() || undefined,
    backoff: number(draft, 'backoff', faults),
  };
}

function policyOf(draft: Draft, faults: Faults): Policy {
  const retry = retryOf(draft, faults);
  if (draft.when === 'once') return { once: { retry } };
  const repeat = { overlap: draft.overlap, catch_up: draft.catchUp, retry };
  if (draft.when === 'periodic') return { periodic: { period: draft.period.trim(), ...repeat } };
  return { cron: { expr: draft.expr.trim(), timezone: draft.zone.trim() || undefined, ...repeat } };
}

async function actionOf(draft: Draft, faults: Faults): Promise<Action> {
  if (draft.what === 'start_execution')
    return { start_execution: { schema: draft.schema.trim(), input: await json(draft, 'input', faults) } };
  if (draft.what === 'rabbitmq_publish')
    return {
      rabbitmq_publish: {
        connection: draft.connection.trim() || undefined,
        exchange: draft.exchange.trim() || undefined,
        routing_key: draft.routingKey.trim() || undefined,
        message: await json(draft, 'message', faults),
      },
    };
  return {
    http_callback: {
      method: draft.method.trim() || undefined,
      url: draft.url.trim(),
      headers: (await json(draft, 'headers', faults, true)) as { [name: string]: Json } | undefined,
      body: await json(draft, 'body', faults),
      timeout: draft.timeout.trim() || undefined,
    },
  };
}

/** What the form means. `start_at` and `deadline` that were not touched stay to the microsecond. */
export async function toSpec(draft: Draft, was?: Spec): Promise<{ spec: Spec; faults: Faults }> {
  const faults: Faults = {};
  const spec: Spec = { policy: policyOf(draft, faults), action: await actionOf(draft, faults) };
  const start = timeOf(draft.start, was?.start_at);
  const deadline = timeOf(draft.deadline, was?.deadline);
  if (start) spec.start_at = start;
  if (deadline) spec.deadline = deadline;
  return { spec, faults };
}

function timeOf(typed: string, was: string | null | undefined): string | undefined {
  if (typed === '') return undefined;
  if (was && localTime(was) === typed) return was;
  return new Date(typed).toISOString();
}

/** For `datetime-local`. */
export function localTime(at: string | null | undefined): string {
  if (!at) return '';
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day}T${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** The form of a specification; null for what it has no fields for. */
export function fromSpec(spec: Spec): Draft | null {
  const { once, periodic, cron } = spec.policy;
  const repeat = periodic ?? cron;
  const retry = (once ?? repeat)?.retry ?? {};
  const action = actionFields(spec.action);
  if (!action || !(once ?? repeat)) return null;
  return {
    ...EMPTY,
    when: once ? 'once' : periodic ? 'periodic' : 'cron',
    start: localTime(spec.start_at),
    deadline: localTime(spec.deadline),
    period: periodic?.period ?? EMPTY.period,
    expr: cron?.expr ?? EMPTY.expr,
    zone: cron?.timezone ?? (cron ? 'UTC' : EMPTY.zone),
    overlap: repeat?.overlap ?? 'skip',
    catchUp: repeat?.catch_up ?? 'last',
    retries: String(retry.max_retries ?? 0),
    min: retry.min ?? '1s',
    max: retry.max ?? '1h',
    scale: retry.scale ?? '1s',
    backoff: String(retry.backoff ?? 2),
    ...action,
  };
}

function text(value: Json | undefined): string {
  return value === undefined || value === null ? '' : write(value, 2);
}

function actionFields(action: Action): Partial<Draft> | null {
  const { start_execution: start, http_callback: http, rabbitmq_publish: publish } = action;
  if (start) return { what: 'start_execution', schema: start.schema, input: text(start.input) };
  if (http)
    return {
      what: 'http_callback',
      method: http.method ?? 'POST',
      url: http.url,
      headers: http.headers && Object.keys(http.headers).length > 0 ? write(http.headers, 2) : '',
      body: text(http.body),
      timeout: http.timeout ?? '',
    };
  if (publish)
    return {
      what: 'rabbitmq_publish',
      connection: publish.connection ?? '',
      exchange: publish.exchange ?? '',
      routingKey: publish.routing_key ?? '',
      message: text(publish.message),
    };
  return null;
}
