import 'uplot/dist/uPlot.min.css';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import { usePreferences } from '../frame/preferences';

export const HEIGHT = 180;

export interface ChartLook {
  /** What a token is now, in this theme: a canvas needs the colour itself. */
  colour: (token: string) => string;
  axis: uPlot.Axis;
  /** Hours and minutes of 24, days where a day begins. */
  times: uPlot.Axis.Values;
  bars: uPlot.Series.PathBuilder | undefined;
}

export type ChartOptions = Pick<uPlot.Options, 'scales' | 'axes' | 'series'>;

/** A chart over time. It is drawn again when the data, the theme or the clock changes; `options` stays the same function. */
export default function Chart({
  label,
  className,
  options,
  data,
}: {
  label: string;
  className?: string;
  options: (look: ChartLook) => ChartOptions;
  /** Seconds first, then a list for each series. */
  data: uPlot.AlignedData;
}) {
  const place = useRef<HTMLDivElement>(null);
  const theme = usePreferences((state) => state.theme);
  const utc = usePreferences((state) => state.utc);
  // biome-ignore lint/correctness/useExhaustiveDependencies: colours are read again when the theme changes
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    let chart = draw(element, options, data, utc);
    const resized = new ResizeObserver(() => chart.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    const scheme = matchMedia('(prefers-color-scheme: dark)');
    const again = () => {
      chart.destroy();
      chart = draw(element, options, data, utc);
    };
    scheme.addEventListener('change', again);
    return () => {
      scheme.removeEventListener('change', again);
      resized.disconnect();
      chart.destroy();
    };
  }, [data, options, theme, utc]);
  return <div ref={place} className={className} role="img" aria-label={label} />;
}

function colourOf(element: HTMLElement, token: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${token})`;
  element.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function draw(element: HTMLElement, options: (look: ChartLook) => ChartOptions, data: uPlot.AlignedData, utc: boolean): uPlot {
  const colour = (token: string) => colourOf(element, token);
  const [soft, line] = [colour('soft'), colour('line')];
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const axis: uPlot.Axis = { stroke: soft, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
  const look = { colour, axis, times: timeLabels(), bars: uPlot.paths.bars?.({ size: [0.7, 24] }) };
  return new uPlot(
    {
      width: element.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false } },
      ...(utc && { tzDate: (seconds: number) => uPlot.tzDate(new Date(seconds * 1000), 'UTC') }),
      ...options(look),
    },
    data,
    element,
  );
}

function timeLabels(): uPlot.Axis.Values {
  const day = 86_400;
  return [
    [day, '{YYYY}-{MM}-{DD}', null, null, null, null, null, null, 1],
    [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
    [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
  ];
}
