import { CalendarClock, Plus } from 'lucide-react';
import { useState } from 'react';
import type { Query } from '../../api/client';
import { type Pages, usePages } from '../../api/pages';
import { useLiveQueries } from '../../api/queries';
import { type AsText, CopyAs } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { go, Link, useSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { curl, pawl } from '../../frame/terminal';
import { type Translate, useT } from '../../messages';
import { Button } from '../../ui/Button';
import { cx } from '../../ui/cx';
import { Empty } from '../../ui/Empty';
import { formatNumber } from '../../ui/format';
import { Listing } from '../../ui/Listing';
import { Page } from '../../ui/Page';
import { type Column, Table } from '../../ui/Table';
import { Ago, Time } from '../../ui/Time';
import { dueBefore, Filters, isFiltered, type Search } from './Filters';
import type { Schedule } from './model';
import css from './Schedules.module.css';
import { Outcome, State } from './State';
import { schedulesSearch } from './search';
import { What } from './What';
import { When } from './When';

export default function SchedulesPage() {
  const t = useT();
  const { reason } = useRole();
  const [search] = useSearch(schedulesSearch);
  const filter = {
    prefix: search.prefix,
    ...(search.finished === 'true' ? { finished: true } : { finished: false, order: 'due' }),
    due_before: dueBefore(search.due),
    kind: search.kind,
    paused: search.paused,
  };
  const pages = usePages<Schedule>(['schedules', 'list'], '/api/scheduled-actions', { ...filter, limit: 100 }, 5_000);
  // No topic tells of schedules; runs that they start do.
  useLiveQueries(['executions'], [['schedules']]);
  const why = reason('editor');
  const add = () => go('/new/schedule');
  useCommands([
    { id: 'schedule.new', name: t('schedules.new'), group: 'page', keys: 'Shift+N', icon: <Plus />, disabledReason: why, act: add },
  ]);
  const button = (
    <Button kind="primary" icon={<Plus />} disabledReason={why} onClick={add}>
      {t('schedules.new')}
    </Button>
  );
  return (
    <Page
      title={t('frame.nav_schedules')}
      head={<Filters />}
      actions={
        <>
          <CopyAs brief of={asText(search, filter, t)} />
          {button}
        </>
      }
    >
      <Listing pages={pages} empty={<Nothing filtered={isFiltered(search)} button={button} />}>
        {(rows) => <Rows rows={rows} pages={pages} />}
      </Listing>
    </Page>
  );
}

function asText(search: Search, filter: Query, t: Translate): AsText {
  const finished = search.finished === 'true';
  // `pawl schedule list` goes by id.
  const lacks = [
    search.kind && t('schedules.kind'),
    search.paused && t('schedules.pauses'),
    finished ? undefined : t('schedules.order_due'),
  ].filter((name) => name !== undefined);
  const flags = { prefix: search.prefix, finished, open: !finished, 'due-before': dueBefore(search.due) };
  return {
    command: lacks.length > 0 ? lacks : () => pawl('schedule list', [], flags),
    curl: () => curl('GET', '/api/scheduled-actions', { query: filter }),
  };
}

function Nothing({ filtered, button }: { filtered: boolean; button: React.ReactNode }) {
  const t = useT();
  const clear = () => go('/schedules');
  if (filtered)
    return (
      <Empty
        icon={<CalendarClock />}
        title={t('schedules.nothing_fits')}
        action={<Button onClick={clear}>{t('common.clear_filters')}</Button>}
      />
    );
  return (
    <Empty icon={<CalendarClock />} title={t('schedules.nothing')} action={button}>
      {t('schedules.nothing_text')}
    </Empty>
  );
}

function Rows({ rows, pages }: { rows: Schedule[]; pages: Pages<Schedule> }) {
  const t = useT();
  const [current, setCurrent] = useState(-1);
  return (
    <Table
      label={t('frame.nav_schedules')}
      columns={columns(t)}
      rows={rows}
      rowKey={(schedule) => schedule.id}
      current={current}
      onCurrent={setCurrent}
      onOpen={(schedule) => go(pageOf(schedule))}
      onEnd={pages.onEnd}
      foot={t('schedules.count', { n: rows.length })}
    />
  );
}

function pageOf(schedule: Schedule): string {
  return `/schedules/${encodeURIComponent(schedule.id)}`;
}

function columns(t: Translate): Column<Schedule>[] {
  return [
    {
      id: 'id',
      head: t('schedules.id'),
      width: 'minmax(140px, 1.4fr)',
      cell: (schedule) => (
        <Link href={pageOf(schedule)} title={schedule.id}>
          {schedule.id}
        </Link>
      ),
    },
    { id: 'what', head: t('schedules.what'), width: 'minmax(160px, 1.8fr)', cell: (schedule) => <What schedule={schedule} /> },
    { id: 'when', head: t('schedules.when'), width: 'minmax(160px, 1.4fr)', cell: (schedule) => <When schedule={schedule} /> },
    {
      id: 'next',
      head: t('schedules.next'),
      width: 'minmax(190px, 1.2fr)',
      cell: ({ status: { planned_at: next, finished_at: finished } }) =>
        next && !finished ? (
          <>
            <Time at={next} /> <span className={css.faint}>{<Ago at={next} />}</span>
          </>
        ) : (
          <span className={css.faint}>{t('schedules.never')}</span>
        ),
    },
    {
      id: 'last',
      head: t('schedules.last'),
      width: '130px',
      cell: ({ status: { last } }) => last && <Outcome outcome={last.outcome} />,
    },
    {
      id: 'failures',
      head: t('schedules.failures'),
      width: '130px',
      align: 'end',
      cell: ({ status: { consecutive_failures: n } }) => <span className={cx(n > 0 ? css.bad : css.faint)}>{formatNumber(n)}</span>,
    },
    { id: 'state', head: t('schedules.state'), width: '170px', cell: (schedule) => <State schedule={schedule} /> },
  ];
}
