/** The list, its actions and the start of a run as lines for the terminal. */
import { write } from '../../api/json';
import { curl, type Flags, pawl } from '../../frame/terminal';
import { atNow, type BulkAction, type BulkFilter, type BulkTarget, bulkBody, type RunFilter, type StartRequest } from './calls';

/** Filters of the API that `pawl executions list` has an option for, which is named as the filter is, with dashes. */
const OPTIONS = new Set([
  'status',
  'schema',
  'text',
  'since',
  'label',
  'tenant',
  'created_by',
  'version',
  'node',
  'error_code',
  'retry_of',
  'forked_from',
  'finished_since',
  'longer_than',
  'unresolved',
  'trial',
]);

/** Names of the filters that the command line does not have: the line would find something else. */
export function withoutOption(filter: RunFilter): string[] {
  return Object.keys(filter).filter((name) => !OPTIONS.has(name));
}

export function listCommand(filter: RunFilter): string {
  const flags: Flags = {};
  for (const [name, value] of Object.entries(atNow(filter))) flags[name.replaceAll('_', '-')] = value === 'true' ? true : (value as string);
  return pawl('executions list', [], flags);
}

export function listCurl(filter: RunFilter): string {
  return curl('GET', '/api/executions', { query: atNow(filter) });
}

/** One line for each of the ticked runs; what a filter finds has no command. */
export function bulkCommand(target: BulkTarget, action: BulkAction): (() => string) | null {
  return 'ids' in target ? () => target.ids.map((id) => pawl(`executions ${action}`, [id])).join('\n') : null;
}

export function bulkCurl(filters: readonly BulkFilter[], action: BulkAction): string {
  return filters.map((filter) => curl('POST', '/api/executions/bulk', { body: bulkBody(filter, action, false) })).join('\n');
}

/** `pawl executions start` has no option for labels. */
export function startCommand(request: StartRequest): string {
  return pawl('executions start', [request.schema], {
    input: request.input === undefined ? undefined : write(request.input),
    version: request.version,
    debug: request.debug_mode,
    priority: request.priority,
    tenant: request.tenant,
    'idempotency-key': request.idempotency_key,
    'start-at': request.start_at,
  });
}
