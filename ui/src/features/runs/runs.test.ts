import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Execution } from '../../api/model';
import { atNow, bulkFilters, bulkTarget, filterOf, hasRelativeTime, pinned } from './calls';
import { readLabels } from './labels';
import { bulkCommand, bulkCurl, listCommand, startCommand, withoutOption } from './lines';
import { patched, unseen } from './rows';
import { runsSearch } from './search';

const run = (id: string, version = 1, status = 'running') => ({ id, event_version: version, status }) as Execution;

describe('the filter', () => {
  afterEach(() => vi.useRealTimers());
  it('is the same for list, counts and bulk actions', () => {
    const search = runsSearch.read({ status: 'failed,stopped', schema: 'a', q: 'x', by: 'key:ci', code: 'E', unresolved: '1' }).value;
    const filter = filterOf(search);
    expect(filter).toEqual({ status: 'failed,stopped', schema: 'a', text: 'x', created_by: 'key:ci', error_code: 'E', unresolved: 'true' });
    expect(bulkFilters({ filter })).toEqual([
      { status: 'failed,stopped', schema: 'a', text: 'x', created_by: 'key:ci', error_code: 'E', unresolved: true },
    ]);
    expect(bulkFilters({ filter: { version: '3', longer_than: '5s' } })).toEqual([{ longer_than: '5s', version: 3 }]);
    expect(bulkFilters({ ids: ['a'] })).toEqual([{ ids: ['a'] }]);
    expect(bulkFilters({ ids: Array.from({ length: 1001 }, String) }).map(({ ids }) => (ids as string[]).length)).toEqual([500, 500, 1]);
  });
  it('is what a bulk action is about only if the address says so', () => {
    const none = { kind: 'ids', ids: new Set<string>() } as const;
    const filter = { status: 'running' };
    expect(bulkTarget('picked', none, filter)).toBeNull();
    expect(bulkTarget('picked', { kind: 'all' }, filter)).toBeNull();
    expect(bulkTarget('picked', { kind: 'ids', ids: new Set(['a']) }, filter)).toEqual({ ids: ['a'] });
    expect(bulkTarget('filter', none, filter)).toEqual({ filter });
    expect(runsSearch.read({ bulk: 'stop' }).value.of).toBe('picked');
  });
  it('reads what it can write only, and times that are relative', () => {
    vi.setSystemTime('2026-01-02T03:04:05Z');
    const good = { version: '3', longer_than: '1h30m', finished_since: '24h' };
    expect(filterOf(runsSearch.read(good).value)).toEqual(good);
    expect(runsSearch.read({ version: 'x', longer_than: 'long', finished_since: 'soon' }).bad).toEqual(Object.keys(good));
    expect(Date.now() - Date.parse(String(atNow(good).finished_since))).toBe(86_400_000);
    expect(hasRelativeTime(runsSearch.read(good).value)).toBe(true);
    expect(hasRelativeTime({ ...runsSearch.read(good).value, ...pinned(runsSearch.read(good).value) })).toBe(false);
  });
  it('reads relative times when it is used', () => {
    vi.setSystemTime('2026-01-02T03:04:05Z');
    expect(Date.now() - Date.parse(String(atNow({ since: '1h' }).since))).toBe(3_600_000);
  });
  it('is wholly in the line for the terminal, or is said to have no option there', () => {
    const search = runsSearch.read({ label: 'a:b c', by: 'key:ci', code: 'E', node: 'n', retry_of: 'r', forked_from: 'f' }).value;
    const filter = filterOf({ ...search, schema: "o'x", unresolved: true, trial: true });
    expect(withoutOption(filter)).toEqual([]);
    expect(listCommand(filter)).toBe(
      "pawl executions list --schema 'o'\\''x' --label 'a:b c' --created-by key:ci --error-code E --node n --retry-of r --forked-from f " +
        `--unresolved --trial --url ${window.location.origin}`,
    );
    expect(withoutOption(filterOf({ ...search, until: '1h' }))).toEqual(['until']);
  });
  it('has lines for actions and starts with all that was chosen', () => {
    const at = ` --url ${window.location.origin}`;
    expect(bulkCommand({ ids: ['a', 'b'] }, 'stop')?.()).toBe(`pawl executions stop a${at}\npawl executions stop b${at}`);
    expect(bulkCommand({ filter: {} }, 'stop')).toBeNull();
    expect(bulkCurl([{ status: 'failed' }], 'retry')).toContain(`'{"filter":{"status":"failed"},"action":"retry","dry_run":false}'`);
    const request = { schema: 's', version: 2, input: { a: "o'x" }, tenant: 't', priority: 'low', debug_mode: true };
    expect(startCommand({ ...request, start_at: '2026-12-01T09:00:00.000Z', idempotency_key: 'k' })).toBe(
      `pawl executions start s --input '{"a":"o'\\''x"}' --version 2 --debug --priority low --tenant t --idempotency-key k ` +
        `--start-at 2026-12-01T09:00:00.000Z${at}`,
    );
  });
});

describe('live rows', () => {
  const pages = {
    pages: [
      { items: [run('c'), run('b')], next: 'n' },
      { items: [run('a')], next: null },
    ],
    pageParams: ['', 'n'],
  };
  it('change in place and never become older', () => {
    const next = patched(
      pages,
      new Map([
        ['a', run('a', 2, 'failed')],
        ['b', run('b', 0)],
      ]),
    );
    expect(next.pages.map((page) => page.items.map((one) => [one.id, one.status]))).toEqual([
      [
        ['c', 'running'],
        ['b', 'running'],
      ],
      [['a', 'failed']],
    ]);
    expect(next.pages[0]?.items).toBe(pages.pages[0]?.items);
    expect(patched(pages, new Map())).toBe(pages);
  });
  it('that are new wait: newer than the first, not in the list', () => {
    expect(unseen(new Set(['a', 'b', 'c']), 'c', [run('e'), run('d'), run('c')]).map((one) => one.id)).toEqual(['e', 'd']);
    expect(unseen(new Set(['c']), 'c', [run('b')])).toEqual([]);
  });
});

describe('the start form', () => {
  it('reads labels', () => {
    expect(readLabels('team=a, region:eu')).toEqual({ team: 'a', region: 'eu' });
    expect(readLabels('team')).toBeNull();
    expect(readLabels('')).toEqual({});
  });
});
