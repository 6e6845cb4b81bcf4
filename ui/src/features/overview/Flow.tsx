import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useT } from '../../messages';
import { formatDuration, formatNumber } from '../../ui/format';
import { Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { overview, type Statistics, type Window } from './calls';
import css from './Overview.module.css';

const FlowChart = lazy(() => import('./FlowChart'));

/** How much begins and ends, how long it takes. */
export function Flow({ window }: { window: Window }) {
  const t = useT();
  const query = useQuery({ ...overview.statistics(window), placeholderData: (before) => before });
  return (
    <Panel title={t('overview.flow')}>
      {query.error && !query.data && <Problem compact error={query.error} onRetry={() => void query.refetch()} />}
      {!query.data && !query.error && <Skeleton rows={5} />}
      {query.data && (
        <div className={css.stack}>
          <Sums statistics={query.data} />
          <Suspense fallback={<div className={css.chart} />}>
            <FlowChart statistics={query.data} />
          </Suspense>
        </div>
      )}
    </Panel>
  );
}

function Sums({ statistics }: { statistics: Statistics }) {
  const t = useT();
  const sum = (name: 'started' | 'failed' | 'failed_stuck') => statistics.buckets.reduce((total, bucket) => total + bucket[name], 0);
  const slowest = Math.max(-1, ...statistics.buckets.map((bucket) => bucket.p95_ms ?? -1));
  const started = sum('started');
  const failed = sum('failed') + sum('failed_stuck');
  return (
    <dl className={css.sums}>
      <div>
        <dt>
          <i className={css.keyStarted} /> {t('overview.started')}
        </dt>
        <dd>{`${statistics.sampled < 1 ? '≈ ' : ''}${formatNumber(started)}`}</dd>
      </div>
      <div>
        <dt>
          <i className={css.keyFailed} /> {t('overview.of_them_failed')}
        </dt>
        <dd>{formatNumber(failed)}</dd>
      </div>
      <div>
        <dt>
          <i className={css.keySlow} /> {t('overview.p95')}
        </dt>
        <dd>{slowest < 0 ? '–' : formatDuration(slowest)}</dd>
      </div>
    </dl>
  );
}
