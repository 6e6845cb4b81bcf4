import { type MouseEvent, memo, useEffect, useRef } from 'react';
import { prepared, usePalette } from '../../canvas/palette';
import type { Scale } from '../../graph/scale';
import { microsOf } from '../../graph/scrub';
import { useT } from '../../messages';
import { iconOf } from '../../nodes';
import { cx } from '../../ui/cx';
import { formatDuration } from '../../ui/format';
import { drawBars } from './bars';
import { useRun } from './context';
import css from './Drawer.module.css';

export const ROW = 24;
export const NAMES = 196;
export const TOTALS = 84;

export interface RowProps {
  /** The node; -1 for a step that belongs to none. */
  index: number;
  /** Its one visit; 0 for all of them together. */
  seq: number;
  /** The run stands here now. */
  live: boolean;
  top: number;
  width: number;
  scale: Scale;
  version: number;
  chosen: boolean;
}

/** The whole row can be clicked: the moment goes to the visit under the pointer. */
export const TimelineRow = memo(function TimelineRow({ index, seq, live, top, width, scale, version, chosen }: RowProps) {
  const t = useT();
  const { graph, scrub, goTo, select, run } = useRun();
  const canvas = useRef<HTMLCanvasElement>(null);
  const colors = usePalette();
  const node = graph.nodes[index];
  const one = scrub.step(seq);
  const visits = seq > 0 ? [seq] : live && seq < 0 ? [] : scrub.visitsOf(index);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  useEffect(() => {
    const context = canvas.current === null || width === 0 ? null : prepared(canvas.current, width, ROW);
    if (context !== null)
      drawBars(context, scrub, visits, scale, width, ROW, colors, live ? microsOf(run.entered_at ?? run.created_at) : null);
  }, [scrub, index, seq, scale, width, colors, version, live]);
  const title = node?.title ?? one?.nodeId ?? '';
  const Icon = iconOf(node?.type ?? one?.nodeType ?? '');
  let total = 0;
  for (const visit of visits) total += scrub.step(visit)?.duration ?? 0;
  const nearest = (x: number) => {
    let best = visits[0] ?? 0;
    for (const visit of visits) {
      const step = scrub.step(visit);
      if (step !== undefined && scale.at(step.start) * width <= x + 2) best = visit;
    }
    return best;
  };
  const open = (event: MouseEvent<HTMLElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - NAMES;
    if (node !== undefined) select(node.id);
    if (visits.length > 0) goTo(nearest(event.detail === 0 ? 0 : x));
  };
  return (
    <div role="listitem" className={css.item} style={{ transform: `translateY(${top}px)` }}>
      <button
        type="button"
        className={cx(css.bar, chosen && css.chosen)}
        onClick={open}
        title={t('run.timeline_row', { node: title, n: visits.length, time: formatDuration(total / 1000) })}
      >
        <span className={css.name}>
          <Icon aria-hidden /> <span>{title}</span>
          {seq > 0 ? <small>#{seq}</small> : visits.length > 1 && <small>×{visits.length}</small>}
          <span className="sr">, </span>
        </span>
        <canvas ref={canvas} className={css.bars} aria-hidden />
        <span className={css.total}>{total > 0 && formatDuration(total / 1000)}</span>
      </button>
    </div>
  );
});
