import { useVirtualizer } from '@tanstack/react-virtual';
import { type MouseEvent, memo, useEffect, useMemo, useRef, useState } from 'react';
import { hasEnded } from '../../api/queries';
import { serverNow } from '../../api/time';
import { prepared, usePalette } from '../../canvas/palette';
import type { Scale } from '../../graph/scale';
import { microsOf, type Scrub } from '../../graph/scrub';
import { useT } from '../../messages';
import { iconOf } from '../../nodes';
import { cx } from '../../ui/cx';
import { formatDuration } from '../../ui/format';
import { drawBars } from './bars';
import { useRun, useRunSearch } from './context';
import css from './Drawer.module.css';
import { useMoment } from './moment';
import { scaleOf } from './track';

const ROW = 24;
const NAMES = 196;
const TOTALS = 84;

/** One row per node in the order of first visits; idle time is folded. The whole row can be clicked. */
export function Timeline() {
  const t = useT();
  const { scrub, version, graph, run } = useRun();
  const position = hasEnded(run) ? -1 : (graph.byId.get(run.current_node_id) ?? -1);
  const [search] = useRunSearch();
  const scroller = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  const scale = useMemo(() => scaleOf(scrub, position < 0 ? null : serverNow() * 1000), [scrub, version, position]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: as above
  const rows = useMemo(
    () =>
      graph.nodes
        .filter((node) => node.index === position || scrub.visitsOf(node.index).length > 0)
        .sort((a, b) => first(scrub, a.index) - first(scrub, b.index)),
    [graph, scrub, version, position],
  );
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(50, Math.floor((entry?.contentRect.width ?? 0) - NAMES - TOTALS))));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: 6 });
  return (
    <div ref={scroller} className={css.timeline} role="list" aria-label={t('run.low_timeline')}>
      <div className={css.rows} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const node = rows[item.index];
          return node === undefined ? null : (
            <Row
              key={node.id}
              index={node.index}
              top={item.start}
              width={width}
              scale={scale}
              version={version}
              chosen={search.node === node.id}
            />
          );
        })}
        <Playhead scale={scale} width={width} />
      </div>
      {rows.length === 0 && <p className={css.nothing}>{t('run.no_steps')}</p>}
    </div>
  );
}

/** The number of the first visit; where the run stands for the first time comes last. */
const first = (scrub: Scrub, node: number) => scrub.visitsOf(node)[0] ?? Number.MAX_SAFE_INTEGER;

interface RowProps {
  index: number;
  top: number;
  width: number;
  scale: Scale;
  version: number;
  chosen: boolean;
}

const Row = memo(function Row({ index, top, width, scale, version, chosen }: RowProps) {
  const t = useT();
  const { graph, scrub, goTo, select, run } = useRun();
  const canvas = useRef<HTMLCanvasElement>(null);
  const colors = usePalette();
  const node = graph.nodes[index];
  const visits = scrub.visitsOf(index);
  const live = !hasEnded(run) && run.current_node_id === node?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  useEffect(() => {
    const context = canvas.current === null || width === 0 ? null : prepared(canvas.current, width, ROW);
    if (context !== null)
      drawBars(context, scrub, index, scale, width, ROW, colors, live ? microsOf(run.entered_at ?? run.created_at) : null);
  }, [scrub, index, scale, width, colors, version, live]);
  if (node === undefined) return null;
  const Icon = iconOf(node.type);
  let total = 0;
  for (const visit of visits) total += scrub.step(visit)?.duration ?? 0;
  const open = (event: MouseEvent<HTMLElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - NAMES;
    select(node.id);
    if (visits.length > 0) goTo(nearest(event.detail === 0 ? 0 : x));
  };
  const nearest = (x: number) => {
    let best = visits[0] ?? 0;
    for (const visit of visits) {
      const step = scrub.step(visit);
      if (step !== undefined && scale.at(step.start) * width <= x + 2) best = visit;
    }
    return best;
  };
  return (
    <div role="listitem" className={css.item} style={{ transform: `translateY(${top}px)` }}>
      <button
        type="button"
        className={cx(css.bar, chosen && css.chosen)}
        onClick={open}
        title={t('run.timeline_row', { node: node.title, n: visits.length, time: formatDuration(total / 1000) })}
      >
        <span className={css.name}>
          <Icon aria-hidden /> <span>{node.title}</span>
          {visits.length > 1 && <small>×{visits.length}</small>}
          <span className="sr">, </span>
        </span>
        <canvas ref={canvas} className={css.bars} aria-hidden />
        <span className={css.total}>{total > 0 && formatDuration(total / 1000)}</span>
      </button>
    </div>
  );
});

function Playhead({ scale, width }: { scale: Scale; width: number }) {
  const { scrub, moment } = useRun();
  const seq = useMoment(moment, (state) => state.seq);
  const step = scrub.step(seq);
  if (step === undefined) return null;
  return <div className={css.playhead} style={{ transform: `translateX(${NAMES + scale.at(step.start + step.duration) * width}px)` }} />;
}
