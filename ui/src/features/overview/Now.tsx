import { useQuery } from '@tanstack/react-query';
import { OPEN, type Status } from '../../api/model';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { formatNumber } from '../../ui/format';
import { Loaded } from '../../ui/Loaded';
import { Panel } from '../../ui/Page';
import { StatusIcon } from '../../ui/Status';
import { overview } from './calls';
import css from './Overview.module.css';

/** Open runs by status; a click is the filtered list. */
export function Now() {
  const t = useT();
  const query = useQuery(overview.counts());
  return (
    <Panel title={t('overview.now')} actions={<Link href="/runs">{t('overview.all_runs')}</Link>} className={css.wide}>
      <Loaded query={query}>
        {(counts) => (
          <ul className={css.tiles}>
            {OPEN.map((status: Status) => {
              const group = counts.groups.find((one) => one.key === status);
              return (
                <li key={status}>
                  <Link className={css.tile} href={`/runs?status=${status}`} data-none={group ? undefined : ''}>
                    <span className={css.number}>{`${formatNumber(group?.count ?? 0)}${group?.capped ? '+' : ''}`}</span>
                    <span className={css.word}>
                      <StatusIcon status={status} size={14} /> {t.name('common', 'status', status)}
                    </span>
                  </Link>
                </li>
              );
            })}
          </ul>
        )}
      </Loaded>
    </Panel>
  );
}
