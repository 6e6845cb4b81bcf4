import { type PointerEvent, useEffect, useMemo, useRef, useState } from 'react';
import { prepared, usePalette } from '../../canvas/palette';
import { useT } from '../../messages';
import { formatDuration, formatTime } from '../../ui/format';
import { Tooltip } from '../../ui/Tooltip';
import { useRun, useRunSearch } from './context';
import { useMoment } from './moment';
import css from './Scrubber.module.css';
import { drawTrack, MARKS, placeOf, scaleOf, seqAt, TICKS, type Track as TrackOf, VISITS } from './track';

const HEIGHT = MARKS + TICKS + VISITS;

/** The line of ticks. Drawn on one canvas; the playhead is moved, not drawn. */
export function Track() {
  const t = useT();
  const { scrub, version, graph, moment, goTo } = useRun();
  const [search] = useRunSearch();
  const [byTime, setByTime] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const head = useRef<HTMLDivElement>(null);
  const width = useWidth(host);
  const colors = usePalette();
  const node = graph.byId.get(search.node) ?? -1;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  const track = useMemo((): TrackOf => ({ scrub, width, scale: byTime ? scaleOf(scrub) : null }), [scrub, version, width, byTime]);
  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = 0;
      const { seq } = moment.getState();
      const context = canvas.current === null ? null : prepared(canvas.current, track.width, HEIGHT);
      if (context !== null) drawTrack(context, track, seq, node, colors);
      if (head.current !== null) head.current.style.transform = `translateX(${placeOf(track, seq)}px)`;
    };
    draw();
    const stop = moment.subscribe(() => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [moment, track, node, colors]);
  const drag = (event: PointerEvent<HTMLDivElement>) => {
    if (event.type === 'pointerdown') event.currentTarget.setPointerCapture(event.pointerId);
    else if (event.buttons !== 1) return;
    const { left } = event.currentTarget.getBoundingClientRect();
    const seq = seqAt(track, event.clientX - left);
    moment.setState({ speed: 0 });
    if (seq !== moment.getState().seq) goTo(seq);
  };
  return (
    <div className={css.line}>
      <div ref={host} className={css.host} onPointerDown={drag} onPointerMove={drag} onPointerUp={() => goTo(moment.getState().seq, true)}>
        <canvas ref={canvas} className={css.ticks} aria-hidden />
        {track.scale?.folds.map((fold) => (
          <span key={fold.from} className={css.fold} style={{ left: ((fold.from + fold.to) / 2) * width }}>
            ⟨{formatDuration(fold.micros / 1000)}⟩
          </span>
        ))}
        <div ref={head} className={css.head} />
        <Slider />
      </div>
      <Tooltip text={t(byTime ? 'run.scale_time' : 'run.scale_step')}>
        <button type="button" className={css.scale} aria-pressed={byTime} onClick={() => setByTime(!byTime)}>
          {t(byTime ? 'run.by_time' : 'run.by_step')}
        </button>
      </Tooltip>
    </div>
  );
}

/** What assistive technology sees of the line. */
function Slider() {
  const t = useT();
  const { scrub, moment } = useRun();
  const seq = useMoment(moment, (state) => state.seq);
  const step = scrub.step(seq);
  const text =
    step === undefined
      ? t('run.beginning')
      : t('run.slider', {
          step: seq,
          all: scrub.last,
          node: step.nodeId,
          status: t.name('common', 'step', step.status),
          time: formatTime(new Date(step.start / 1000).toISOString(), 'time'),
        });
  return (
    <div
      role="slider"
      tabIndex={0}
      className={css.slider}
      aria-label={t('run.moment')}
      aria-valuemin={scrub.first - 1}
      aria-valuemax={scrub.last}
      aria-valuenow={seq}
      aria-valuetext={text}
    />
  );
}

function useWidth(host: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [host]);
  return width;
}
