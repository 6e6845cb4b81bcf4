import { useQuery } from '@tanstack/react-query';
import type { Execution } from '../../api/model';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Chip } from '../../ui/Chip';
import { Id } from '../../ui/Id';
import { Status } from '../../ui/Status';
import { Duration } from '../../ui/Time';
import { runQueries } from './api';
import css from './Head.module.css';

/** Which run, in which state, and where it comes from. */
export function RunHead({ id, run }: { id: string; run: Execution | undefined }) {
  const t = useT();
  if (run === undefined) return <Id id={id} />;
  return (
    <span className={css.title}>
      <Link href={`/schemas/${encodeURIComponent(run.schema)}`} className={css.schema}>
        {run.schema}
      </Link>
      <span className={css.version}>v{run.version}</span>
      <span className={css.id}>
        <Id id={run.id} copy />
      </span>
      <Status status={run.status} chip />
      <span className={css.took}>
        <Duration from={run.started_at} to={run.finished_at} />
      </span>
      {run.trial && <Chip tone="debug">{t('run.trial')}</Chip>}
      {run.retry_of && <Relation name={t('run.retry_of')} id={run.retry_of} />}
      {run.forked_from && <Relation name={t('run.forked_from')} id={run.forked_from} />}
      <Forks run={run} />
      {run.retried_as && <Relation name={t('run.retried_as')} id={run.retried_as} />}
    </span>
  );
}

/** What was forked from it: the one, or the list of them. */
function Forks({ run }: { run: Execution }) {
  const t = useT();
  const forks = useQuery(runQueries.forks(run.id));
  const { items = [], next = null } = forks.data ?? {};
  const only = items[0];
  if (only === undefined) return null;
  const text = next === null ? t('run.forks', { n: items.length }) : t('run.forks_many');
  return (
    <Link href={items.length === 1 ? `/runs/${only.id}` : `/runs?forked_from=${run.id}`} className={css.relation}>
      {text} {items.length === 1 && <Id id={only.id} />}
    </Link>
  );
}

function Relation({ name, id }: { name: string; id: string }) {
  return (
    <Link href={`/runs/${id}`} className={css.relation}>
      {name} <Id id={id} />
    </Link>
  );
}
