import { useQuery } from '@tanstack/react-query';
import { useT } from '../../messages';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Time } from '../../ui/Time';
import { Value } from '../../ui/Value';
import { runQueries } from './api';
import { useFile, useRun } from './context';
import css from './Inspector.module.css';

/** Before the first step: what the run was started with. */
export function Beginning() {
  const t = useT();
  const { run, gone } = useRun();
  const file = useFile();
  const initial = useQuery(runQueries.initial(run.id));
  if (initial.error) return <Problem error={initial.error} onRetry={() => void initial.refetch()} compact />;
  if (initial.data === undefined) return <Skeleton rows={4} height={24} />;
  const first = initial.data.initial;
  return (
    <>
      <p className={css.quiet}>{t.rich('run.started_by', { by: <b>{run.created_by}</b>, at: <Time at={run.created_at} /> })}</p>
      {gone && <p className={css.quiet}>{t('run.gone', { n: gone.up_to })}</p>}
      <Value name={t('run.input')} value={first?.input ?? null} file={file} />
      <Value name={t('run.webhook')} value={first?.webhook ?? null} file={file} />
      <Value name={t('run.variables')} value={first?.variables ?? null} file={file} />
    </>
  );
}
