import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { parseTime } from '../../api/time';
import { usePreferences } from '../../frame/preferences';
import { useT } from '../../messages';
import { formatDuration } from '../../ui/format';
import type { Statistics } from './calls';
import css from './Overview.module.css';

const HEIGHT = 180;

/** Bars for what was started and what of it failed, a line for the 95th percentile. */
export default function FlowChart({ statistics }: { statistics: Statistics }) {
  const t = useT();
  const place = useRef<HTMLDivElement>(null);
  const theme = usePreferences((state) => state.theme);
  const utc = usePreferences((state) => state.utc);
  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read again when the theme changes
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const draw = () =>
      chartOf(element, statistics, { started: t('overview.started'), failed: t('overview.of_them_failed'), p95: t('overview.p95') }, utc);
    let chart = draw();
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const again = () => {
      chart.destroy();
      chart = draw();
    };
    scheme.addEventListener('change', again);
    return () => {
      scheme.removeEventListener('change', again);
      resized.disconnect();
      chart.destroy();
    };
  }, [statistics, theme, utc, t]);
  return <div ref={place} className={css.chart} role="img" aria-label={t('overview.flow')} />;
}

/** What a token is now, in this theme: a canvas needs the colour itself. */
function colour(element: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${token})`;
  element.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function chartOf(
  element: HTMLElement,
  statistics: Statistics,
  names: { started: string; failed: string; p95: string },
  utc: boolean,
): uPlot {
  const { buckets } = statistics;
  const [soft, line, accent, bad, warn] = ['soft', 'line', 'accent', 'bad', 'warn'].map((token) => colour(element, token));
  const bars = uPlot.paths.bars?.({ size: [0.7, 24] });
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const axis: uPlot.Axis = { stroke: soft, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
  return new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      ...(utc && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'UTC') }),
      scales: {
        x: { time: true },
        y: { range: (_chart, _low, high) => [0, Math.max(4, high * 1.1)] },
        p95: { range: (_chart, _low, high) => [0, Math.max(10, high * 1.2)] },
      },
      axes: [
        { ...axis, grid: { show: false }, values: timeLabels() },
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
        {
          label: names.p95,
          scale: 'p95',
          stroke: warn,
          width: 1.5,
          points: { show: buckets.filter((one) => one.p95_ms !== null).length < 3, size: 5 },
          spanGaps: false,
        },
      ],
    },
    [
      buckets.map((bucket) => parseTime(bucket.from).ms / 1000),
      // A bar of no height would still draw its outline.
      buckets.map((bucket) => bucket.started || null),
      buckets.map((bucket) => bucket.failed + bucket.failed_stuck || null),
      buckets.map((bucket) => bucket.p95_ms),
    ],
    element,
  );
}

/** Hours and minutes of 24, days where a day begins. */
function timeLabels(): uPlot.Axis.Values {
  const day = 86_400;
  return [
    [day, '{YYYY}-{MM}-{DD}', null, null, null, null, null, null, 1],
    [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
    [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
  ];
}
