import { useCallback, useMemo } from 'react';
import { parseTime } from '../../api/time';
import { useT } from '../../messages';
import Chart, { type ChartLook, type ChartOptions } from '../../ui/Chart';
import { formatDuration } from '../../ui/format';
import type { Statistics } from './calls';
import css from './Overview.module.css';

/** Bars for what was started and what of it failed, a line for the 95th percentile. */
export default function FlowChart({ statistics }: { statistics: Statistics }) {
  const t = useT();
  const { buckets } = statistics;
  const few = buckets.filter((one) => one.p95_ms !== null).length < 3;
  const options = useCallback(
    (look: ChartLook) =>
      optionsOf(look, { started: t('overview.started'), failed: t('overview.of_them_failed'), p95: t('overview.p95') }, few),
    [t, few],
  );
  const data = useMemo(
    () =>
      [
        buckets.map((bucket) => parseTime(bucket.from).ms / 1000),
        // A bar of no height would still draw its outline.
        buckets.map((bucket) => bucket.started || null),
        buckets.map((bucket) => bucket.failed + bucket.failed_stuck || null),
        buckets.map((bucket) => bucket.p95_ms),
      ] satisfies [number[], ...(number | null)[][]],
    [buckets],
  );
  return <Chart label={t('overview.flow')} className={css.chart} options={options} data={data} />;
}

function optionsOf(look: ChartLook, names: { started: string; failed: string; p95: string }, few: boolean): ChartOptions {
  const { axis, bars, colour } = look;
  const [accent, bad, warn] = ['accent', 'bad', 'warn'].map(colour);
  return {
    scales: {
      x: { time: true },
      y: { range: (_chart, _low, high) => [0, Math.max(4, high * 1.1)] },
      p95: { range: (_chart, _low, high) => [0, Math.max(10, high * 1.2)] },
    },
    axes: [
      { ...axis, grid: { show: false }, values: look.times },
      { ...axis, size: 40, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000] },
      {
        ...axis,
        scale: 'p95',
        side: 1,
        size: 64,
        grid: { show: false },
        values: (_chart, marks) => marks.map((mark) => (mark === 0 ? '' : formatDuration(mark))),
      },
    ],
    series: [
      {},
      { label: names.started, stroke: accent, fill: accent, paths: bars, points: { show: false } },
      { label: names.failed, stroke: bad, fill: bad, paths: bars, points: { show: false } },
      { label: names.p95, scale: 'p95', stroke: warn, width: 1.5, points: { show: few, size: 5 }, spanGaps: false },
    ],
  };
}
