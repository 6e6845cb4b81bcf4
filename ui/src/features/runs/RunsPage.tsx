import { useQuery } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Execution } from '../../api/model';
import { useCommands } from '../../frame/commands';
import { go, type SetSearch, useSearch } from '../../frame/navigate';
import { usePreferences } from '../../frame/preferences';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Empty } from '../../ui/Empty';
import { formatNumber } from '../../ui/format';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Table, type TableHandle } from '../../ui/Table';
import { toast } from '../../ui/toasts';
import { BulkBar } from './BulkBar';
import { BulkDialog } from './BulkDialog';
import { rowClass, runColumns } from './Columns';
import { type BulkAction, bulkTarget, counts, filterOf, isFiltered, type RunFilter } from './calls';
import { FilterBar } from './FilterBar';
import { Peek } from './Peek';
import css from './Runs.module.css';
import { useRunRows } from './rows';
import { StartDialog } from './StartDialog';
import { type RunsSearch, runsSearch } from './search';
import { useSelection } from './selection';

export default function RunsPage() {
  const t = useT();
  const [search, set] = useSearch(runsSearch);
  const { reason } = useRole();
  return (
    <Page
      title={t('frame.nav_runs')}
      actions={
        <Button kind="primary" icon={<Play />} disabledReason={reason('operator')} onClick={() => set({ start: true })}>
          {t('runs.start')}
        </Button>
      }
    >
      <FilterBar search={search} set={set} />
      <RunList search={search} set={set} />
      {search.start && <StartDialog search={search} set={set} />}
    </Page>
  );
}

interface Part {
  search: RunsSearch;
  set: SetSearch<RunsSearch>;
}

function useFilter(search: RunsSearch) {
  const key = JSON.stringify(filterOf(search));
  return useMemo(() => JSON.parse(key) as ReturnType<typeof filterOf>, [key]);
}

function RunList({ search, set }: Part) {
  const t = useT();
  const filter = useFilter(search);
  const { query, rows, waiting, waitingFull, show } = useRunRows(filter);
  const ids = useMemo(() => rows.map((row) => row.id), [rows]);
  const picked = useSelection(ids);
  const [current, setCurrent] = useState(-1);
  const table = useRef<TableHandle>(null);
  const total = useQuery({ ...counts(filter), enabled: query.isSuccess }).data;
  const row = rows[current];
  const move = useCallback(
    (at: number) => {
      setCurrent(at);
      const next = rows[at];
      if (search.sel && next && next.id !== search.sel) set({ sel: next.id }, { replace: true });
    },
    [rows, search.sel, set],
  );
  const bar = useRef<HTMLElement | null>(null);
  const toBar = useRef(false);
  const some = picked.size === null || picked.size > 0;
  /** To the bar of actions; without a selection, the row is the selection. */
  const actions = () => {
    if (some) return bar.current?.querySelector('button')?.focus();
    toBar.current = true;
    if (row) picked.toggle(row.id, false);
  };
  const barShown = useCallback((element: HTMLElement | null) => {
    bar.current = element;
    if (element && toBar.current) element.querySelector('button')?.focus();
    toBar.current = false;
  }, []);
  useListCommands({
    row,
    search,
    set,
    waiting,
    show,
    by: (steps) => rows.length > 0 && move(Math.max(0, Math.min(rows.length - 1, current + steps))),
    toggle: (range) => row && picked.toggle(row.id, range),
    actions,
    some,
    clear: picked.clear,
  });
  const dense = usePreferences((state) => state.density === 'dense');
  const columns = useMemo(() => runColumns(t, { has: picked.has, toggle: picked.toggle }), [t, picked.has, picked.toggle]);
  const end = useCallback(() => {
    if (query.hasNextPage && !query.isFetchingNextPage) void query.fetchNextPage();
  }, [query.hasNextPage, query.isFetchingNextPage, query.fetchNextPage]);
  return (
    <>
      <div className={css.body}>
        <div className={css.list}>
          {waiting > 0 && (
            <button type="button" className={css.fresh} onClick={() => void show()}>
              {waitingFull ? t('runs.fresh_many', { n: waiting }) : t('runs.fresh', { n: waiting })} <kbd>n</kbd>
            </button>
          )}
          {query.error && <Problem error={query.error} onRetry={() => void query.refetch()} />}
          {query.isPending && <Skeleton rows={16} />}
          {query.isSuccess && rows.length === 0 && <Nothing search={search} set={set} />}
          {rows.length > 0 && (
            <Table
              handle={table}
              label={t('frame.nav_runs')}
              columns={columns}
              rows={rows}
              rowKey={(run) => run.id}
              rowHeight={dense ? 28 : 32}
              current={current}
              onCurrent={move}
              onOpen={(run) => go(`/runs/${run.id}`)}
              selected={(run) => picked.has(run.id)}
              rowClass={rowClass}
              onEnd={end}
            />
          )}
          {some && (
            <BulkBar
              ref={barShown}
              size={picked.size}
              total={total && { count: total.total, capped: total.capped }}
              loaded={rows.length}
              onAll={picked.all}
              onLoaded={picked.loaded}
              onClear={picked.clear}
              onAct={(action: BulkAction) => set({ bulk: action, of: picked.size === null ? 'filter' : 'picked' })}
            />
          )}
          {rows.length > 0 && <Foot loaded={rows.length} total={total && { count: total.total, capped: total.capped }} />}
        </div>
        {search.sel && (
          <Peek
            id={search.sel}
            row={rows.find((one: Execution) => one.id === search.sel)}
            onClose={() => set({ sel: '' }, { replace: true })}
          />
        )}
      </div>
      {search.bulk && <Bulk search={search} set={set} filter={filter} picked={picked} />}
    </>
  );
}

/** About ticked rows that nothing remembers: it closes and says so. It never becomes an action on everything. */
function Bulk({ search, set, filter, picked }: Part & { filter: RunFilter; picked: ReturnType<typeof useSelection> }) {
  const t = useT();
  const target = bulkTarget(search.of, picked.selection, filter);
  const lost = target === null;
  useEffect(() => {
    if (!lost) return;
    toast({ tone: 'warn', text: t('runs.bulk_lost') });
    set({ bulk: undefined }, { replace: true });
  }, [lost, set, t]);
  if (!search.bulk || !target) return null;
  return (
    <BulkDialog
      key={`${search.bulk} ${JSON.stringify(target)}`}
      action={search.bulk}
      target={target}
      onClose={() => {
        set({ bulk: undefined, of: 'picked' }, { replace: true });
        picked.clear();
      }}
    />
  );
}

function Foot({ loaded, total }: { loaded: number; total: { count: number; capped: boolean } | undefined }) {
  const t = useT();
  const of = total ? `${formatNumber(Math.max(total.count, loaded))}${total.capped ? '+' : ''}` : '…';
  return (
    <footer className={css.foot}>
      <span>{t('runs.range', { to: loaded, of })}</span>
      <span>{t('runs.foot_keys')}</span>
    </footer>
  );
}

/** Nothing yet, or nothing that fits: two different things. */
function Nothing({ search, set }: Part) {
  const t = useT();
  const filtered = isFiltered(filterOf(search));
  const all = useQuery({ ...counts({}), enabled: filtered }).data;
  if (filtered) {
    const of = all ? `${formatNumber(all.total)}${all.capped ? '+' : ''}` : '…';
    return (
      <Empty
        title={t('runs.none_fit', { of })}
        action={<Button onClick={() => set(runsSearch.read({}).value)}>{t('common.clear_filters')}</Button>}
      />
    );
  }
  return (
    <Empty
      icon={<Play />}
      title={t('runs.none')}
      action={
        <>
          <Button kind="primary" icon={<Play />} onClick={() => set({ start: true, schema: 'order-check' })}>
            {t('runs.none_run')}
          </Button>
          <Button onClick={() => set({ start: true })}>{t('runs.start')}</Button>
        </>
      }
    >
      {t('runs.none_text')}
    </Empty>
  );
}

function useListCommands({
  row,
  search,
  set,
  waiting,
  show,
  by,
  toggle,
  actions,
  some,
  clear,
}: Part & {
  row: Execution | undefined;
  waiting: number;
  show: () => Promise<void>;
  by: (rows: number) => void;
  toggle: (range: boolean) => void;
  actions: () => void;
  some: boolean;
  clear: () => void;
}): void {
  const t = useT();
  const { reason } = useRole();
  const none = !row && t('runs.choose_row');
  useCommands([
    {
      id: 'runs.start',
      name: t('runs.start'),
      group: 'page',
      keys: 'Shift+N',
      icon: <Play />,
      disabledReason: reason('operator'),
      act: () => set({ start: true }),
    },
    {
      id: 'runs.fresh',
      name: t('runs.show_fresh'),
      group: 'page',
      keys: 'n',
      disabledReason: waiting === 0 && t('runs.no_fresh'),
      act: () => void show(),
    },
    {
      id: 'runs.peek',
      name: t('runs.peek'),
      group: 'page',
      keys: 'Space|e',
      disabledReason: none,
      act: () => row && set({ sel: search.sel === row.id ? '' : row.id }, { replace: true }),
    },
    // In the list itself its own keys do the same.
    { id: 'runs.next', name: t('runs.next_row'), group: 'page', keys: 'j', keyOnly: true, act: () => by(1) },
    { id: 'runs.previous', name: t('runs.previous_row'), group: 'page', keys: 'k', keyOnly: true, act: () => by(-1) },
    { id: 'runs.tick', name: t('runs.tick'), group: 'page', keys: 'x', disabledReason: none, act: () => toggle(false) },
    { id: 'runs.range', name: t('runs.tick_range'), group: 'page', keys: 'Shift+X', disabledReason: none, act: () => toggle(true) },
    { id: 'runs.actions', name: t('runs.actions'), group: 'page', keys: '.', disabledReason: !some && none, act: actions },
    { id: 'runs.open', name: t('runs.open'), group: 'page', disabledReason: none, act: () => row && go(`/runs/${row.id}`) },
    {
      id: 'runs.escape',
      name: t('runs.bulk_clear'),
      group: 'page',
      keys: 'Escape',
      keyOnly: true,
      act: () => (search.sel ? set({ sel: '' }, { replace: true }) : clear()),
    },
  ]);
}
