import { ServerOff } from 'lucide-react';
import { useState } from 'react';
import type { Worker } from '../../api/model';
import { usePages } from '../../api/pages';
import { useLiveQueries } from '../../api/queries';
import { parseTime } from '../../api/time';
import { Link } from '../../frame/navigate';
import { useMe } from '../../frame/session';
import { useT } from '../../messages';
import { Chip } from '../../ui/Chip';
import { cx } from '../../ui/cx';
import { Empty } from '../../ui/Empty';
import { shortId } from '../../ui/Id';
import { Listing } from '../../ui/Listing';
import { Page } from '../../ui/Page';
import { type Column, Table } from '../../ui/Table';
import { Ago, Duration, useNow } from '../../ui/Time';
import { Bar } from './Bar';
import css from './Operations.module.css';
import { Process } from './Process';

const ROW = 36;
/** The line below the table, and a scrollbar. */
const FOOT = 44;

/** Without one of these, something waits; without a scheduler only quotas do. */
const NEEDED = ['engine', 'timers', 'reaper'] as const;

export default function WorkersPage() {
  const t = useT();
  const pages = usePages<Worker>(['workers'], '/api/workers', {}, 5_000);
  useLiveQueries(['workers'], [['workers']]);
  return (
    <Page scroll title={t('frame.nav_workers')}>
      <Listing
        pages={pages}
        empty={
          <Empty icon={<ServerOff />} title={t('operations.no_workers')}>
            {t('operations.no_workers_text')}
          </Empty>
        }
      >
        {(rows) => <Workers rows={rows} onEnd={pages.onEnd} />}
      </Listing>
      <Process />
    </Page>
  );
}

function Workers({ rows, onEnd }: { rows: Worker[]; onEnd: () => void }) {
  const t = useT();
  const [current, setCurrent] = useState(-1);
  const missing = NEEDED.filter((role) => !rows.some((worker) => worker.roles.includes(role)));
  const columns: Column<Worker>[] = [
    { id: 'id', head: t('operations.worker'), width: 'minmax(140px, 1.4fr)', cell: (worker) => <code title={worker.id}>{worker.id}</code> },
    {
      id: 'roles',
      head: t('operations.roles'),
      width: 'minmax(320px, 2fr)',
      cell: (worker) => (
        <span className={css.chips}>
          {worker.roles.map((role) => (
            <Chip key={role}>{t.name('operations', 'role', role)}</Chip>
          ))}
        </span>
      ),
    },
    {
      id: 'slots',
      head: t('operations.slots'),
      width: 'minmax(180px, 1.2fr)',
      cell: ({ busy, slots }) => <Bar used={busy} of={slots} text={t('operations.slots_text', { busy, slots })} />,
    },
    { id: 'doing', head: t('operations.doing'), width: 'minmax(160px, 1.6fr)', cell: (worker) => <Doing worker={worker} /> },
    { id: 'version', head: t('operations.version'), width: '80px', cell: (worker) => worker.version },
    {
      id: 'up',
      head: t('operations.up'),
      width: '110px',
      align: 'end',
      cell: (worker) => <Duration from={worker.started_at} to={null} />,
    },
    {
      id: 'heartbeat',
      head: t('operations.heartbeat'),
      width: '150px',
      align: 'end',
      cell: (worker) => <Heartbeat at={worker.heartbeat_at} />,
    },
  ];
  return (
    <>
      {missing.length > 0 && (
        <p className={css.warning} role="status">
          {t('operations.role_missing', { roles: missing.map((role) => t.name('operations', 'role', role)).join(', ') })}
        </p>
      )}
      <div className={css.workers} style={{ height: ROW * (rows.length + 1) + FOOT }}>
        <Table
          label={t('frame.nav_workers')}
          columns={columns}
          rows={rows}
          rowKey={(worker) => worker.id}
          current={current}
          onCurrent={setCurrent}
          onEnd={onEnd}
          rowHeight={ROW}
          foot={t('operations.workers_count', { n: rows.length })}
        />
      </div>
    </>
  );
}

function Doing({ worker }: { worker: Worker }) {
  const t = useT();
  if (worker.doing.length === 0) return <span className={css.faint}>{t('operations.idle')}</span>;
  const shown = worker.doing.slice(0, 2);
  const rest = Math.max(worker.busy, worker.doing.length) - shown.length;
  return (
    <span className={css.doing}>
      {shown.map((id) => (
        <Link key={id} href={`/runs/${id}`} title={id}>
          <code>{shortId(id)}</code>
        </Link>
      ))}
      {rest > 0 && <span className={css.faint}>{t('operations.and_more', { n: rest })}</span>}
    </span>
  );
}

/** How often a worker reports: the one of `pawl dev` has no server to tell. After three missed reports the server leaves it out. */
const REPORTS_MS = { dev: 60_000, server: 10_000 };

function Heartbeat({ at }: { at: string }) {
  const every = REPORTS_MS[useMe()?.mode ?? 'server'];
  const age = useNow(1000) - parseTime(at).ms;
  return (
    <span className={cx(age > 2.2 * every ? css.lost : age > 1.2 * every ? css.late : css.fine)}>
      <Ago at={at} />
    </span>
  );
}
