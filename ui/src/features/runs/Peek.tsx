import { useQuery } from '@tanstack/react-query';
import { ArrowRight, X } from 'lucide-react';
import { api, path } from '../../api/client';
import { asApiError } from '../../api/error';
import type { Execution, Page, Step } from '../../api/model';
import { queries } from '../../api/queries';
import { go, Link } from '../../frame/navigate';
import { sentenceOf } from '../../frame/sentence';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Empty } from '../../ui/Empty';
import { formatDuration } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Status, StepStatusMark } from '../../ui/Status';
import { Duration, Time } from '../../ui/Time';
import css from './Peek.module.css';

const LAST = 5;

/** The run under the pointer, without leaving the list. */
export function Peek({ id, row, onClose }: { id: string; row: Execution | undefined; onClose: () => void }) {
  const t = useT();
  // The row is live; the panel follows it.
  const version = row?.event_version ?? 0;
  const read = useQuery({ ...queries.run(id), enabled: row === undefined });
  const run = row ?? read.data;
  return (
    <aside className={css.peek} aria-label={t('runs.peek')}>
      <header className={css.head}>
        <h2>
          {run ? (
            <>
              {run.schema} <span className={css.soft}>v{run.version}</span>
            </>
          ) : (
            <Id id={id} />
          )}
        </h2>
        <IconButton size="small" name={t('common.close')} icon={<X />} onClick={onClose} />
      </header>
      {run ? <PeekBody run={run} version={version} /> : read.error ? <Gone error={read.error} /> : <Skeleton rows={6} />}
    </aside>
  );
}

function Gone({ error }: { error: unknown }) {
  const t = useT();
  if (asApiError(error).status === 404) return <Empty title={t('runs.gone')}>{t('runs.gone_text')}</Empty>;
  return <Problem error={error} />;
}

function PeekBody({ run, version }: { run: Execution; version: number }) {
  const t = useT();
  const explain = useQuery({ ...queries.explain(run.id, version), placeholderData: (before) => before });
  return (
    <div className={css.body}>
      <div className={css.line}>
        <Status status={run.status} chip />
        <Id id={run.id} copy />
      </div>
      {explain.data && !run.error && <p className={css.sentence}>{sentenceOf(explain.data, run, t)}</p>}
      <dl className={css.facts}>
        <dt>{t('runs.created')}</dt>
        <dd>
          <Time at={run.created_at} /> · {run.created_by}
        </dd>
        <dt>{t('runs.duration')}</dt>
        <dd>
          <Duration from={run.started_at ?? run.created_at} to={run.finished_at} />
        </dd>
        {run.retry_of && <Relation name={t('runs.retry_of')} id={run.retry_of} />}
        {run.retried_as && <Relation name={t('runs.retried_as')} id={run.retried_as} />}
        {run.forked_from && <Relation name={t('runs.forked_from')} id={run.forked_from} />}
      </dl>
      {run.error && (
        <div className={css.errorBox}>
          <code>{run.error.code}</code>
          <p>{run.error.message}</p>
        </div>
      )}
      <LastSteps run={run} />
      <Button kind="primary" icon={<ArrowRight />} onClick={() => go(`/runs/${run.id}`)}>
        {t('runs.open')}
      </Button>
    </div>
  );
}

function Relation({ name, id }: { name: string; id: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Link href={`/runs/${id}`}>
          <Id id={id} />
        </Link>
      </dd>
    </>
  );
}

/** A step holds its payloads; five of the newest are asked for by their numbers. */
function LastSteps({ run }: { run: Execution }) {
  const t = useT();
  const from = Math.max(1, run.seq - LAST + 1);
  const query = useQuery({
    queryKey: ['run', run.id, 'last-steps', run.seq],
    queryFn: ({ signal }) => api.get<Page<Step>>(path('/api/executions', run.id, 'steps'), { from, to: run.seq, limit: LAST }, signal),
    enabled: run.seq > 0,
    placeholderData: (before) => before,
  });
  if (run.seq === 0) return null;
  if (query.error) return <Problem compact error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <section>
      <h3 className={css.title}>{t('runs.last_steps')}</h3>
      <ol className={css.steps}>
        {[...(query.data?.items ?? [])].reverse().map((step) => (
          <li key={step.seq}>
            <Link href={`/runs/${run.id}?step=${step.seq}`} className={css.step}>
              <StepStatusMark status={step.status} word={false} />
              <span className={css.soft}>{step.seq}</span>
              <span className={css.node}>{step.node_id}</span>
              <span className={css.soft}>{formatDuration(step.duration_ms)}</span>
            </Link>
          </li>
        ))}
      </ol>
    </section>
  );
}
