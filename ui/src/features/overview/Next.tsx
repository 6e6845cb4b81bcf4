import { useQuery } from '@tanstack/react-query';
import type { Execution, ScheduledAction } from '../../api/model';
import { serverNow } from '../../api/time';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { StatusIcon } from '../../ui/Status';
import { Ago, Countdown } from '../../ui/Time';
import { isOverdue, longestWaits, overview, policyOf, targetOf, titleOf } from './calls';
import css from './Overview.module.css';

/** What comes next: firings, and the runs that have stood still the longest. */
export function Next() {
  const t = useT();
  const due = useQuery(overview.due());
  const waits = useQuery(overview.waits());
  const firings = (due.data?.items ?? []).filter((action) => action.scheduled_at !== null && action.finished_at === null);
  const standing = longestWaits(waits.data?.items ?? [], 6);
  return (
    <Panel title={t('overview.next')} className={css.wide}>
      <div className={css.columns}>
        <section>
          <h3 className={css.sub}>{t('overview.firings')}</h3>
          {due.error && !due.data && <Problem compact error={due.error} onRetry={() => void due.refetch()} />}
          {due.isPending && <Skeleton rows={3} />}
          {due.data && firings.length === 0 && (
            <p className={css.none}>
              {t('overview.no_firings')} <Link href="/new/schedule">{t('frame.new_schedule')}</Link>
            </p>
          )}
          <ul className={css.lines}>
            {firings.map((action) => (
              <Firing key={action.id} action={action} />
            ))}
          </ul>
        </section>
        <section>
          <h3 className={css.sub}>{waits.data?.next ? t('overview.waits_of', { n: waits.data.items.length }) : t('overview.waits')}</h3>
          {waits.error && !waits.data && <Problem compact error={waits.error} onRetry={() => void waits.refetch()} />}
          {waits.isPending && <Skeleton rows={3} />}
          {waits.data && standing.length === 0 && <p className={css.none}>{t('overview.no_waits')}</p>}
          <ul className={css.lines}>
            {standing.map((run) => (
              <Standing key={run.id} run={run} />
            ))}
          </ul>
        </section>
      </div>
    </Panel>
  );
}

function Firing({ action }: { action: ScheduledAction }) {
  const t = useT();
  const late = isOverdue(action, serverNow());
  return (
    <li>
      <Link href={`/schedules/${encodeURIComponent(action.id)}`} className={css.line}>
        <span className={css.what}>
          {titleOf(action)}{' '}
          <span className={css.where}>{[targetOf(action), policyOf(action)].filter((part) => part !== titleOf(action)).join(' · ')}</span>
        </span>
        <span className={css.when} data-late={late || undefined}>
          {late && `${t('overview.late')} `}
          {action.scheduled_at && (late ? <Ago at={action.scheduled_at} /> : <Countdown until={action.scheduled_at} />)}
        </span>
      </Link>
    </li>
  );
}

function Standing({ run }: { run: Execution }) {
  return (
    <li>
      <Link href={`/runs/${run.id}`} className={css.line}>
        <StatusIcon status={run.status} size={14} />
        <span className={css.what}>
          {run.schema} <span className={css.where}>{run.current_node_id}</span>
        </span>
        <span className={css.when}>
          <Ago at={run.entered_at ?? run.created_at} />
        </span>
      </Link>
    </li>
  );
}
