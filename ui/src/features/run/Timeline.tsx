import { useVirtualizer } from '@tanstack/react-virtual';
import { ZoomIn, ZoomOut } from 'lucide-react';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { hasEnded } from '../../api/queries';
import { serverNow } from '../../api/time';
import type { Scale } from '../../graph/scale';
import type { Scrub } from '../../graph/scrub';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { formatDuration } from '../../ui/format';
import { useRun, useRunSearch, useSeq } from './context';
import css from './Drawer.module.css';
import { NAMES, ROW, TimelineRow, TOTALS } from './TimelineRow';
import { scaleOf } from './track';
import { useBrush } from './useBrush';
import { type Window, windowOf, zoomed } from './zoom';

/** Bars over time: a row per node in the order of first visits, or per visit. Idle time is folded; a part drawn over fills the width. */
export function Timeline() {
  const t = useT();
  const { scrub, version, graph, run } = useRun();
  const position = hasEnded(run) ? -1 : (graph.byId.get(run.current_node_id) ?? -1);
  const [search] = useRunSearch();
  const seq = useSeq();
  const scroller = useRef<HTMLDivElement>(null);
  const width = useLineWidth(scroller);
  const [window, setWindow] = useState<Window | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  const whole = useMemo(() => scaleOf(scrub, position < 0 ? null : serverNow() * 1000), [scrub, version, position]);
  const scale = useMemo(() => zoomed(whole, window), [whole, window]);
  const rows = useRows(position);
  const { brush, handlers } = useBrush({
    left: NAMES,
    width,
    onBrush: (from, to) => setWindow(windowOf(whole, window, from, to)),
  });
  const virtual = useVirtualizer({ count: rows.length, getScrollElement: () => scroller.current, estimateSize: () => ROW, overscan: 6 });
  return (
    <div className={css.column}>
      <Tools whole={whole} scale={scale} window={window} onWindow={setWindow} />
      <div ref={scroller} className={css.timeline} role="list" aria-label={t('run.low_timeline')} {...handlers}>
        <div className={css.rows} style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map((item) => {
            const row = rows[item.index];
            return row === undefined ? null : (
              <TimelineRow
                key={`${row.index} ${row.seq}`}
                {...row}
                top={item.start}
                width={width}
                scale={scale}
                version={version}
                chosen={row.seq > 0 ? row.seq === seq : search.node !== '' && search.node === graph.nodes[row.index]?.id}
              />
            );
          })}
          <Playhead scale={scale} width={width} />
          {brush !== null && (
            <div className={css.brush} style={{ transform: `translateX(${NAMES + brush.from}px)`, width: brush.to - brush.from }} />
          )}
        </div>
        {rows.length === 0 && <p className={css.nothing}>{t('run.no_steps')}</p>}
      </div>
    </div>
  );
}

interface ToolsProps {
  whole: Scale;
  scale: Scale;
  window: Window | null;
  onWindow: (window: Window | null) => void;
}

/** What the rows are, and the zoom for the keyboard: around the moment. */
function Tools({ whole, scale, window, onWindow }: ToolsProps) {
  const t = useT();
  const { scrub, moment } = useRun();
  const [search, set] = useRunSearch();
  const zoom = (half: number) => {
    const step = scrub.step(moment.getState().seq);
    const at = step === undefined ? 0.5 : scale.at(step.start + step.duration / 2);
    const middle = at >= 0 && at <= 1 ? at : 0.5;
    onWindow(windowOf(whole, window, middle - half, middle + half));
  };
  const byVisit = search.rows === 'visit';
  return (
    <div className={css.tools}>
      <Button size="small" kind="quiet" aria-pressed={byVisit} onClick={() => set({ rows: byVisit ? 'node' : 'visit' }, { replace: true })}>
        {t('run.row_per_visit')}
      </Button>
      <IconButton size="small" name={t('run.zoom_in')} icon={<ZoomIn />} onClick={() => zoom(0.25)} />
      <IconButton
        size="small"
        name={t('run.zoom_out')}
        icon={<ZoomOut />}
        disabledReason={window === null && t('run.whole_shown')}
        onClick={() => zoom(1)}
      />
      {window === null ? (
        <span>{t('run.brush_hint')}</span>
      ) : (
        <>
          <span>
            {t('run.window', {
              part: formatDuration((window.to - window.from) / 1000),
              all: formatDuration((whole.end - whole.begin) / 1000),
            })}
          </span>
          <Button size="small" kind="quiet" onClick={() => onWindow(null)}>
            {t('run.show_whole')}
          </Button>
        </>
      )}
    </div>
  );
}

/** -1: the visit that is not over yet. */
const UNDER_WAY = -1;

function useRows(position: number): { index: number; seq: number; live: boolean }[] {
  const { scrub, version, graph } = useRun();
  const [search] = useRunSearch();
  const byVisit = search.rows === 'visit';
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  return useMemo(() => {
    if (byVisit) {
      const rows = scrub.steps.map((step) => ({ index: step.node, seq: step.seq, live: false }));
      return position < 0 ? rows : [...rows, { index: position, seq: UNDER_WAY, live: true }];
    }
    return graph.nodes
      .filter((node) => node.index === position || scrub.visitsOf(node.index).length > 0)
      .sort((a, b) => first(scrub, a.index) - first(scrub, b.index))
      .map((node) => ({ index: node.index, seq: 0, live: node.index === position }));
  }, [graph, scrub, version, position, byVisit]);
}

/** The number of the first visit; where the run stands for the first time comes last. */
const first = (scrub: Scrub, node: number) => scrub.visitsOf(node)[0] ?? Number.MAX_SAFE_INTEGER;

function useLineWidth(scroller: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = scroller.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(50, Math.floor((entry?.contentRect.width ?? 0) - NAMES - TOTALS))));
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller]);
  return width;
}

function Playhead({ scale, width }: { scale: Scale; width: number }) {
  const { scrub } = useRun();
  const step = scrub.step(useSeq());
  if (step === undefined) return null;
  const place = scale.at(step.start + step.duration);
  if (place < 0 || place > 1) return null;
  return <div className={css.playhead} style={{ transform: `translateX(${NAMES + place * width}px)` }} />;
}
