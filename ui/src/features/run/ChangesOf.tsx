import { useQuery } from '@tanstack/react-query';
import { useT } from '../../messages';
import { Diff } from '../../ui/Diff';
import { runQueries } from './api';
import { useRun } from './context';
import css from './Inspector.module.css';

/** What the step changed for the steps after it. Its own record (`/steps/…`) is said by output and error already. */
export function ChangesOf({ seq }: { seq: number }) {
  const t = useT();
  const { run } = useRun();
  const context = useQuery(runQueries.context(run.id, seq, 'difference', '', 16_384));
  const changes = (context.data?.difference ?? []).filter((change) => !/^\/(steps|execution|previous|prev|last)(\/|$)/.test(change.path));
  if (changes.length === 0) return null;
  return (
    <section>
      <h3 className={css.section}>{t('run.what_changed')}</h3>
      <Diff changes={changes} />
      {(context.data?.left_out ?? 0) > 0 && <p className={css.quiet}>{t('run.changes_left_out', { n: context.data?.left_out ?? 0 })}</p>}
    </section>
  );
}
