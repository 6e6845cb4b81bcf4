import type { Execution } from '../../api/model';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Chip } from '../../ui/Chip';
import { Id } from '../../ui/Id';
import { Status } from '../../ui/Status';
import { Duration } from '../../ui/Time';
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
      {run.retried_as && <Relation name={t('run.retried_as')} id={run.retried_as} />}
    </span>
  );
}

function Relation({ name, id }: { name: string; id: string }) {
  return (
    <Link href={`/runs/${id}`} className={css.relation}>
      {name} <Id id={id} />
    </Link>
  );
}
