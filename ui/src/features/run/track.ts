/** The scrubber's line: where each step is, and how it is drawn. No React. */
import type { Palette } from '../../canvas/palette';
import { type Scale, timeScale } from '../../graph/scale';
import { EDIT, type Scrub, type StepLine } from '../../graph/scrub';

/** From here on steps share columns. */
const MANY = 2000;
export const MARKS = 11;
export const TICKS = 24;
export const VISITS = 7;

/** Types whose time is waiting, not work: their spans may be folded. */
const WAITS = new Set(['sleep', 'wait_event']);
export const isWait = (step: StepLine) => WAITS.has(step.nodeType);

/** `now`: a run that goes on reaches to this moment (microseconds). */
export function scaleOf(scrub: Scrub, now: number | null = null): Scale {
  const work: { start: number; end: number }[] = [];
  for (const step of scrub.steps) {
    const end = step.start + step.duration;
    if (isWait(step)) work.push({ start: step.start, end: step.start }, { start: end, end });
    else work.push({ start: step.start, end });
  }
  if (now !== null) work.push({ start: now, end: now });
  return timeScale(work);
}

export interface Track {
  scrub: Scrub;
  width: number;
  /** Null: by step. */
  scale: Scale | null;
}

/** How wide a step is: a short run does not spread over the whole line. */
const WIDEST = 32;
const slotOf = ({ scrub, width }: Track) => Math.min(WIDEST, width / Math.max(1, scrub.steps.length));

/** Where the playhead stands after step `seq`. */
export function placeOf(track: Track, seq: number): number {
  const { scrub, width, scale } = track;
  if (scale === null) return (seq - scrub.first + 1) * slotOf(track);
  const step = scrub.step(seq);
  return step === undefined ? 0 : scale.at(step.start + step.duration) * width;
}

/** The moment nearest to a place on the line. */
export function seqAt(track: Track, x: number): number {
  const { scrub, scale } = track;
  if (scale === null) return scrub.first - 1 + Math.max(0, Math.min(scrub.steps.length, Math.round(x / Math.max(slotOf(track), 1e-9))));
  let low = scrub.first - 1;
  let high = scrub.last;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (placeOf(track, middle) <= x + 0.5) low = middle;
    else high = middle - 1;
  }
  return low;
}

interface Bar {
  x: number;
  width: number;
  /** 0 to 1. */
  height: number;
  worst: 'success' | 'skipped' | 'failed';
  inherited: boolean;
  from: number;
}

const RANK = { success: 0, skipped: 1, failed: 2 } as const;

function bars(track: Track): Bar[] {
  const { scrub, width, scale } = track;
  const slot = slotOf(track);
  const found: Bar[] = [];
  const grouped = scrub.steps.length > MANY || slot < 2;
  for (const step of scrub.steps) {
    const at = scale === null ? (step.seq - scrub.first) * slot : scale.at(step.start) * width;
    const end = scale === null ? at + slot : scale.at(step.start + step.duration) * width;
    const bar: Bar = {
      x: at,
      width: Math.max(1.5, end - at),
      height: heightOf(step),
      worst: step.status,
      inherited: step.inherited,
      from: step.seq,
    };
    const last = found[found.length - 1];
    const together = grouped || scale !== null ? 2 : 0;
    if (last !== undefined && at - last.x < together && last.width <= 2) join(last, bar);
    else found.push(grouped && scale === null ? { ...bar, width: 2 } : bar);
  }
  return found;
}

function join(into: Bar, bar: Bar) {
  into.height = Math.max(into.height, bar.height);
  if (RANK[bar.worst] > RANK[into.worst]) into.worst = bar.worst;
}

/** Longer steps are higher, on a scale of powers of ten: a millisecond and an hour both can be seen. */
function heightOf(step: StepLine): number {
  const ms = step.duration / 1000;
  return Math.min(1, 0.3 + Math.max(0, Math.log10(ms + 0.1) + 1) * 0.12);
}

export function drawTrack(context: CanvasRenderingContext2D, track: Track, seq: number, node: number, colors: Palette) {
  for (const bar of bars(track)) drawBar(context, bar, seq, colors, track.scale === null);
  drawFolds(context, track, colors);
  drawMarks(context, track, colors);
  if (node >= 0) drawVisits(context, track, node, seq, colors);
}

function drawBar(context: CanvasRenderingContext2D, bar: Bar, seq: number, colors: Palette, spaced: boolean) {
  const height = Math.round(bar.height * TICKS);
  const gap = spaced && bar.width > 4 ? 2 : 0;
  const passed = bar.from <= seq;
  context.fillStyle = bar.worst === 'failed' ? colors.bad : bar.inherited ? colors.edge : passed ? colors.accent : colors.edge;
  context.globalAlpha = bar.worst === 'failed' ? 1 : passed ? (bar.inherited ? 0.7 : 0.85) : 0.4;
  context.fillRect(bar.x, MARKS + TICKS - height, Math.max(1, bar.width - gap), height);
  context.globalAlpha = 1;
}

function drawFolds(context: CanvasRenderingContext2D, { scale, width }: Track, colors: Palette) {
  context.strokeStyle = colors.edge;
  for (const fold of scale?.folds ?? []) {
    const [from, to] = [fold.from * width, fold.to * width];
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(from + 2, MARKS + TICKS - 3.5);
    context.lineTo(to - 2, MARKS + TICKS - 3.5);
    context.stroke();
  }
  context.setLineDash([]);
}

export interface Mark {
  kind: 'failed' | 'retried' | 'edited' | 'signal' | 'fork';
  x: number;
}

/** Of all that is worth a mark, at most one of a kind per few pixels. */
export function marksOf(track: Track, limit = 400): Mark[] {
  const { scrub } = track;
  const marks: Mark[] = [];
  const last: Partial<Record<Mark['kind'], number>> = {};
  const add = (kind: Mark['kind'], seq: number, shift: number) => {
    const x = placeOf(track, seq - (shift === 0 ? 0 : 1)) + shift * (track.scale === null ? slotOf(track) / 2 : 0);
    if (x - (last[kind] ?? -100) < 7 || marks.length >= limit) return;
    last[kind] = x;
    marks.push({ kind, x });
  };
  for (const step of scrub.steps) {
    const kind = kindOf(step);
    if (kind !== null) add(kind, step.seq, 1);
    if (step.seq === scrub.base && scrub.base > 0) add('fork', step.seq, 0);
  }
  return marks;
}

function kindOf(step: StepLine): Mark['kind'] | null {
  if (step.status === 'failed') return 'failed';
  if (step.nodeType === EDIT) return 'edited';
  if (step.tries > 1) return 'retried';
  return step.nodeType === 'wait_event' && step.exit !== 'timeout' ? 'signal' : null;
}

function drawMarks(context: CanvasRenderingContext2D, track: Track, colors: Palette) {
  context.lineWidth = 1.5;
  for (const { kind, x } of marksOf(track)) {
    context.beginPath();
    context.strokeStyle = context.fillStyle = {
      failed: colors.bad,
      retried: colors.warn,
      edited: colors.debug,
      signal: colors.info,
      fork: colors.soft,
    }[kind];
    if (kind === 'failed') cross(context, x, 5);
    else if (kind === 'edited') diamond(context, x, 5);
    else if (kind === 'signal') flag(context, x, 5);
    else if (kind === 'retried') context.arc(x, 5, 2.6, 0.6, 5.6);
    else fork(context, x);
    if (kind === 'edited') context.fill();
    else context.stroke();
  }
}

function cross(context: CanvasRenderingContext2D, x: number, y: number) {
  context.moveTo(x - 2.6, y - 2.6);
  context.lineTo(x + 2.6, y + 2.6);
  context.moveTo(x + 2.6, y - 2.6);
  context.lineTo(x - 2.6, y + 2.6);
}

function diamond(context: CanvasRenderingContext2D, x: number, y: number) {
  context.moveTo(x, y - 3);
  context.lineTo(x + 3, y);
  context.lineTo(x, y + 3);
  context.lineTo(x - 3, y);
  context.closePath();
}

function flag(context: CanvasRenderingContext2D, x: number, y: number) {
  context.moveTo(x - 2, y + 4);
  context.lineTo(x - 2, y - 3.5);
  context.lineTo(x + 3, y - 1.2);
  context.lineTo(x - 2, y + 1);
}

function fork(context: CanvasRenderingContext2D, x: number) {
  context.moveTo(x, 1);
  context.lineTo(x, MARKS + TICKS);
}

function drawVisits(context: CanvasRenderingContext2D, track: Track, node: number, seq: number, colors: Palette) {
  const slot = slotOf(track);
  let before = -10;
  for (const visit of track.scrub.visitsOf(node)) {
    const step = track.scrub.step(visit);
    const end = placeOf(track, visit);
    const x = track.scale === null ? end - slot : placeOf(track, visit - 1);
    if (step === undefined || (end - before < 1 && step.status !== 'failed')) continue;
    before = end;
    context.fillStyle = step.status === 'failed' ? colors.bad : colors.ink;
    context.globalAlpha = visit <= seq ? 1 : 0.35;
    context.fillRect(x, MARKS + TICKS + 3, Math.max(1.5, end - x - (slot > 4 ? 2 : 0)), VISITS - 3);
  }
  context.globalAlpha = 1;
}
