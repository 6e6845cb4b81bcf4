import { Bug, CornerUpRight, FlaskConical, GitFork } from 'lucide-react';
import type { MouseEvent } from 'react';
import type { Execution } from '../../api/model';
import { Link } from '../../frame/navigate';
import { type Translate, useT } from '../../messages';
import { cx } from '../../ui/cx';
import { formatNumber } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Status } from '../../ui/Status';
import type { Column } from '../../ui/Table';
import { Countdown, Duration, Time } from '../../ui/Time';
import { Tooltip } from '../../ui/Tooltip';
import css from './Runs.module.css';

/** Where it is now: the node, what it waits for with the time left, or why it failed. */
export function Now({ run }: { run: Execution }) {
  const t = useT();
  if (run.error) {
    return (
      <Tooltip text={run.error.message}>
        <span className={css.now}>
          <span className={css.bad}>{run.error.code}</span> <span className={css.soft}>{run.current_node_id}</span>
        </span>
      </Tooltip>
    );
  }
  if (run.finished_at) return <span className={css.soft}>{run.current_node_id}</span>;
  const tries = run.attempt > 1 ? <span className={css.soft}> · {t('runs.try', { n: run.attempt })}</span> : null;
  return (
    <span className={css.now}>
      {run.current_node_id}
      {run.wait?.name && <span className={css.soft}> · {run.wait.name}</span>}
      {run.wait?.wake_at && (
        <span className={css.info}>
          {' '}
          · <Countdown until={run.wait.wake_at} />
        </span>
      )}
      {tries}
    </span>
  );
}

export function Labels({ run }: { run: Execution }) {
  const labels = Object.entries(run.labels);
  return (
    <>
      {run.tenant && <span className={css.label}>{run.tenant}</span>}
      {labels.map(([name, value]) => (
        <span key={name} className={css.label}>
          {name}:{String(value)}
        </span>
      ))}
    </>
  );
}

/** Small marks beside the name: made by a retry or fork, in the debugger, a trial. */
function Marks({ run }: { run: Execution }) {
  const t = useT();
  return (
    <>
      {run.retry_of && <CornerUpRight className={css.mark} aria-label={t('runs.is_retry')} />}
      {run.forked_from && <GitFork className={css.mark} aria-label={t('runs.is_fork')} />}
      {run.debug_mode && <Bug className={css.mark} aria-label={t('runs.is_debug')} />}
      {run.trial && <FlaskConical className={css.mark} aria-label={t('runs.is_trial')} />}
    </>
  );
}

export interface Ticks {
  has: (id: string) => boolean;
  toggle: (id: string, range: boolean) => void;
}

export function runColumns(t: Translate, ticks: Ticks | null): Column<Execution>[] {
  const columns: Column<Execution>[] = [
    {
      id: 'tick',
      head: <span className="sr">{t('runs.ticked')}</span>,
      width: '34px',
      cell: (run) => (
        <label className={css.tick}>
          <input
            type="checkbox"
            tabIndex={-1}
            checked={ticks?.has(run.id) ?? false}
            aria-label={t('common.select_row', { row: run.id })}
            onChange={() => undefined}
            onClick={(event: MouseEvent) => ticks?.toggle(run.id, event.shiftKey)}
          />
        </label>
      ),
    },
    { id: 'status', head: t('runs.status'), width: '152px', cell: (run) => <Status status={run.status} /> },
    {
      id: 'schema',
      head: t('runs.schema'),
      width: 'minmax(130px, 1.2fr)',
      cell: (run) => (
        <Link className={css.name} href={`/runs/${run.id}`}>
          <span>{run.schema}</span> <span className={css.version}>v{run.version}</span>
          <Marks run={run} />
        </Link>
      ),
    },
    { id: 'id', head: t('runs.id'), width: '92px', cell: (run) => <Id id={run.id} /> },
    { id: 'steps', head: t('runs.steps'), width: '64px', align: 'end', cell: (run) => formatNumber(run.seq) },
    { id: 'now', head: t('runs.now'), width: 'minmax(140px, 1.6fr)', cell: (run) => <Now run={run} /> },
    { id: 'created', head: t('runs.created'), width: '132px', cell: (run) => <Time at={run.created_at} /> },
    {
      id: 'duration',
      head: t('runs.duration'),
      width: '96px',
      align: 'end',
      cell: (run) => <Duration from={run.started_at ?? run.created_at} to={run.finished_at} />,
    },
    { id: 'by', head: t('runs.by'), width: 'minmax(70px, 0.7fr)', cell: (run) => <span className={css.soft}>{run.created_by}</span> },
    { id: 'labels', head: t('runs.labels'), width: 'minmax(60px, 1fr)', cell: (run) => <Labels run={run} /> },
  ];
  return ticks ? columns : columns.slice(1);
}

export function rowClass(run: Execution): string {
  return cx(run.status === 'failed_stuck' && css.stuck);
}
