import { useCallback, useMemo, useRef } from 'react';
import Chart, { type ChartLook, type ChartOptions } from '../../ui/Chart';
import css from './Operations.module.css';

interface Line {
  name: string;
  token: 'accent' | 'good' | 'warn' | 'info';
  values: (number | null)[];
}

/** One or two lines over time; what they are now is told in words beside their names. */
export default function RateChart({
  title,
  at,
  lines,
  format,
}: {
  title: string;
  at: number[];
  lines: readonly Line[];
  format: (value: number) => string;
}) {
  const latest = useRef({ lines, format });
  latest.current = { lines, format };
  const options = useCallback((look: ChartLook) => optionsOf(look, latest.current.lines, latest.current.format), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the lines are made of the times
  const data = useMemo(() => [at, ...lines.map((line) => line.values)] as [number[], ...(number | null)[][]], [at]);
  const now = (line: Line) => {
    const value = line.values.at(-1);
    return value === null || value === undefined ? '–' : format(value);
  };
  return (
    <figure className={css.figure}>
      <figcaption>
        {lines.length > 1 && <span>{title}</span>}
        {lines.map((line) => (
          <span key={line.name}>
            <i className={css.key} data-line={line.token} /> {line.name}: <strong>{now(line)}</strong>
          </span>
        ))}
      </figcaption>
      <Chart label={`${title}: ${lines.map((line) => `${line.name} ${now(line)}`).join(', ')}`} options={options} data={data} />
    </figure>
  );
}

function optionsOf({ axis, times, colour }: ChartLook, lines: readonly Line[], format: (value: number) => string): ChartOptions {
  return {
    scales: { x: { time: true }, y: { range: (_chart, _low, high) => [0, (high || 1) * 1.2] } },
    axes: [
      { ...axis, grid: { show: false }, values: times },
      { ...axis, size: 64, values: (_chart, marks) => marks.map((mark) => (mark === 0 ? '' : format(mark))) },
    ],
    series: [
      {},
      ...lines.map((line) => ({ label: line.name, stroke: colour(line.token), width: 1.5, points: { show: false }, spanGaps: false })),
    ],
  };
}
