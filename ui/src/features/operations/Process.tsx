import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useRef } from 'react';
import { useT } from '../../messages';
import { formatBytes, formatDuration, formatNumber } from '../../ui/format';
import { Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { ratesOf, type Sample, sampleNow } from './metrics';
import css from './Operations.module.css';

const RateChart = lazy(() => import('./RateChart'));

const EVERY_MS = 5_000;
/** Ten minutes. */
const MOST = 120;

/** Rates of this server since the page was opened; what was before, a collector of metrics knows. */
export function Process() {
  const t = useT();
  const kept = useRef<readonly Sample[]>([]);
  const query = useQuery({
    queryKey: ['metrics'],
    queryFn: async ({ signal }) => {
      kept.current = [...kept.current, await sampleNow(signal)].slice(-MOST);
      return kept.current;
    },
    refetchInterval: EVERY_MS,
    gcTime: 0,
    staleTime: 0,
  });
  const rates = useMemo(() => ratesOf(query.data ?? []), [query.data]);
  const number = (value: number) => formatNumber(value, value < 10 ? 2 : 0);
  if (query.error && !query.data) return <Problem compact error={query.error} onRetry={() => void query.refetch()} />;
  return (
    <Panel title={t('operations.process')}>
      <p className={css.faint}>{t('operations.process_hint')}</p>
      {rates.at.length < 2 ? (
        <p role="status">{t('operations.process_wait')}</p>
      ) : (
        <div className={css.charts}>
          <Suspense>
            <RateChart
              title={t('operations.chart_runs')}
              at={rates.at}
              lines={[
                { name: t('operations.chart_started'), token: 'accent', values: rates.started },
                { name: t('operations.chart_ended'), token: 'good', values: rates.ended },
              ]}
              format={number}
            />
            <RateChart
              title={t('operations.chart_steps')}
              at={rates.at}
              lines={[{ name: t('operations.chart_steps'), token: 'accent', values: rates.steps }]}
              format={number}
            />
            <RateChart
              title={t('operations.chart_commit')}
              at={rates.at}
              lines={[{ name: t('operations.chart_commit'), token: 'warn', values: rates.commitMs }]}
              format={formatDuration}
            />
            <RateChart
              title={t('operations.chart_memory')}
              at={rates.at}
              lines={[{ name: t('operations.chart_memory'), token: 'info', values: rates.memory }]}
              format={formatBytes}
            />
          </Suspense>
        </div>
      )}
    </Panel>
  );
}
