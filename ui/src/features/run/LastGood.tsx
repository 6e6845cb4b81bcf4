import { useQuery } from '@tanstack/react-query';
import type { Execution } from '../../api/model';
import { queries } from '../../api/queries';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Id } from '../../ui/Id';
import { runQueries } from './api';
import css from './Inspector.module.css';

/** Longer runs are compared when a person asks for it. */
const LONGEST = 2_000;

/** Where a run that has ended parts from the last good one. */
export function LastGood({ run }: { run: Execution }) {
  const t = useT();
  const good = useQuery(queries.lastGood(run));
  const other = good.data ?? null;
  const short = other !== null && run.seq <= LONGEST && other.seq <= LONGEST;
  const first = useQuery({ ...runQueries.partsFrom(run.id, short ? other.id : '') });
  // A first good run needs no other.
  if (other === null)
    return good.data === null && run.status !== 'completed' ? <p className={css.compared}>{t('run.no_good_run')}</p> : null;
  const place = first.data?.left ?? first.data?.right;
  const href = `/runs/${run.id}/compare?with=${other.id}`;
  return (
    <p className={css.compared}>
      {t.rich('run.compared_with', { id: <Id id={other.id} /> })}{' '}
      <Link href={href}>
        {!short || first.error
          ? t('run.compare_last_good')
          : first.data === undefined
            ? '…'
            : first.data === null
              ? t('run.no_difference')
              : t('run.first_difference', { step: first.data.index, node: place?.node_id ?? '' })}
      </Link>
    </p>
  );
}
