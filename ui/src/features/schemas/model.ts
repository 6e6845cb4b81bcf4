/** Shapes and calls of the screens about schemas. */
import { api, path } from '../../api/client';
import type { Page, Schema, Status } from '../../api/model';
import type { AsText } from '../../frame/CopyAs';
import { curl, pawl } from '../../frame/terminal';

export interface SchemaSummary {
  triggers: { kind: string; name: string; text: string }[];
  open: number;
  open_capped: boolean;
  last: { id: string; status: Status; created_at: string; finished_at: string | null }[];
  next_at: string | null;
}

export interface ListedSchema extends Schema {
  summary?: SchemaSummary;
}

export interface SchemaVersion {
  version: number;
  language: number;
  hash: string;
  created_by: string;
  created_at: string;
  note?: string | null;
  published?: boolean;
  has_source?: boolean;
}

export interface Counts {
  groups: { key: string; count: number; capped: boolean }[];
  total: number;
  capped: boolean;
}

export const schemaPath = (name: string, ...parts: string[]) => path('/api/schemas', name, ...parts);

export const listSchemas = (text: string, cursor: string | undefined, signal: AbortSignal) =>
  api.get<Page<ListedSchema>>('/api/schemas', { text, include: 'summary', limit: 100, cursor }, signal);

export const openByNode = (name: string, signal: AbortSignal) =>
  api.get<Counts>(
    '/api/executions/counts',
    { schema: name, group: 'node', status: 'pending,queued,running,sleeping,waiting,paused,waiting_debug' },
    signal,
  );

export const readVersions = (name: string, signal: AbortSignal) =>
  api.get<Page<SchemaVersion>>(schemaPath(name, 'versions'), undefined, signal);

/** How a program would start it. */
export function startLines(name: string): AsText {
  return {
    command: () => pawl('executions start', [name], { input: '{}' }),
    curl: () => curl('POST', '/api/executions', { query: { wait: '10s' }, body: { schema: name, input: {} } }),
  };
}

export interface WebhookTrigger {
  url: string;
  method: string;
  auth: string;
  respond: string;
  name: string;
}

export function webhookOf(trigger: Record<string, unknown>): WebhookTrigger {
  const method = trigger.method ?? 'POST';
  const auth = trigger.auth as { type?: unknown } | string | undefined;
  return {
    url: `${window.location.origin}/webhook/${String(trigger.path ?? '').replace(/^\/+/, '')}`,
    method: Array.isArray(method) ? method.join(', ') : String(method),
    auth: typeof auth === 'string' ? auth : String(auth?.type ?? ''),
    respond: String(trigger.respond ?? 'immediately'),
    name: String(trigger.name ?? ''),
  };
}

export function webhookCurl(trigger: WebhookTrigger): string {
  const method = trigger.method.split(',')[0]?.trim() ?? 'POST';
  const body = method === 'GET' ? '' : ` -H 'content-type: application/json' -d '{}'`;
  // A parameter of the path stands for any value.
  const url = trigger.url.replace(/\/:(\w+)/g, (_, name: string) => `/${name.toUpperCase()}`);
  return `curl -si -X ${method} '${url}'${body}`;
}
