import { useQuery } from '@tanstack/react-query';
import { CheckCircle2, Stethoscope } from 'lucide-react';
import type { ReactNode } from 'react';
import { serverNow } from '../../api/time';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { formatNumber } from '../../ui/format';
import { Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Ago } from '../../ui/Time';
import { type ErrorGroup, isOverdue, missingRoles, overview, type Window } from './calls';
import css from './Overview.module.css';

/** What needs a person. */
export function Trouble({ window }: { window: Window }) {
  const t = useT();
  const doctor = useQuery(overview.doctor());
  return (
    <Panel
      title={t('overview.trouble')}
      actions={
        <Button size="small" kind="quiet" icon={<Stethoscope />} busy={doctor.isFetching} onClick={() => void doctor.refetch()}>
          {t('overview.examine')}
        </Button>
      }
    >
      <div className={css.stack}>
        <Signs />
        {doctor.error && <Problem compact error={doctor.error} onRetry={() => void doctor.refetch()} />}
        {doctor.data && (
          <Sign href="/doctor" tone={doctor.data.healthy ? 'good' : 'bad'}>
            {doctor.data.healthy
              ? t('overview.healthy', { n: doctor.data.open_executions })
              : t('overview.findings', { n: doctor.data.findings.length })}
          </Sign>
        )}
        <Errors window={window} />
      </div>
    </Panel>
  );
}

function Sign({ href, tone, children }: { href: string; tone: 'bad' | 'warn' | 'good'; children: ReactNode }) {
  return (
    <Link href={href} className={css.sign} data-tone={tone}>
      {children}
    </Link>
  );
}

function Signs() {
  const t = useT();
  const letters = useQuery(overview.letters());
  const due = useQuery(overview.due());
  const workers = useQuery(overview.workers());
  const overdue = (due.data?.items ?? []).filter((action) => isOverdue(action, serverNow())).length;
  const missing = workers.data ? missingRoles(workers.data.items, serverNow()) : [];
  return (
    <>
      {[letters, due, workers].map((query, at) =>
        // biome-ignore lint/suspicious/noArrayIndexKey: three readings in a fixed order
        query.error ? <Problem key={at} compact error={query.error} onRetry={() => void query.refetch()} /> : null,
      )}
      {letters.data && letters.data.count > 0 && (
        <Sign href="/dead-letters" tone="bad">
          {t('overview.letters', { n: letters.data.count })}
        </Sign>
      )}
      {overdue > 0 && (
        <Sign href="/schedules" tone="warn">
          {t('overview.overdue', { n: overdue })}
        </Sign>
      )}
      {missing.length > 0 && (
        <Sign href="/workers" tone="bad">
          {t('overview.no_worker', { roles: missing.join(', ') })}
        </Sign>
      )}
    </>
  );
}

function Errors({ window }: { window: Window }) {
  const t = useT();
  const query = useQuery(overview.errors(window));
  if (query.error && !query.data) return <Problem compact error={query.error} onRetry={() => void query.refetch()} />;
  if (!query.data) return <Skeleton rows={4} />;
  const { groups, total, capped } = query.data;
  if (groups.length === 0) {
    return (
      <p className={css.fine}>
        <CheckCircle2 aria-hidden /> {t(`overview.no_errors_${window}`)}
      </p>
    );
  }
  return (
    <section>
      <h3 className={css.sub}>
        {t('overview.failed', { n: total })}
        {capped && '+'}
      </h3>
      <ul className={css.lines}>
        {groups.map((group) => (
          <ErrorLine key={`${group.code}/${group.schema}/${group.node}`} group={group} window={window} />
        ))}
      </ul>
    </section>
  );
}

function ErrorLine({ group, window }: { group: ErrorGroup; window: Window }) {
  const t = useT();
  const search = new URLSearchParams({
    status: 'failed,failed_stuck,stopped',
    schema: group.schema,
    code: group.code,
    node: group.node,
    since: window,
  });
  return (
    <li>
      <Link href={`/runs?${search.toString().replaceAll('%2C', ',')}`} className={css.error} title={group.last_message}>
        <strong className={css.count}>{formatNumber(group.count)}</strong>
        <span className={css.what}>
          <code className={css.code}>{group.code}</code>{' '}
          <span className={css.where}>{t('overview.at_node', { schema: group.schema, node: group.node })}</span>
        </span>
        <span className={css.when}>
          <Ago at={group.last_at} />
        </span>
      </Link>
    </li>
  );
}
