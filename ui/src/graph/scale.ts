/** Where moments are on a line: by step, or by time with the long gaps folded. */

export interface Fold {
  /** Places on the line, 0 to 1. */
  from: number;
  to: number;
  micros: number;
}

export interface Scale {
  /** The place of a moment in microseconds, 0 to 1. */
  at(micros: number): number;
  folds: Fold[];
  begin: number;
  end: number;
}

interface Span {
  start: number;
  end: number;
  /** 0 to 1 on the line. */
  from: number;
  to: number;
}

/** A gap longer than this share of all the time is folded. */
const LONG = 0.05;
/** What a folded gap takes of the line, and all of them together at the most. */
const FOLDED = 0.04;
const ALL_FOLDED = 0.4;

/** Work, as spans of microseconds in the order of their starts. What lies between two of them is a gap. */
export function timeScale(work: readonly { start: number; end: number }[]): Scale {
  const busy = joined(work);
  if (busy.length === 0) return { at: () => 0, folds: [], begin: 0, end: 0 };
  const begin = (busy[0] as Span).start;
  const end = (busy[busy.length - 1] as Span).end;
  const spans = foldedSpans(busy, (end - begin) * LONG);
  return { at: (micros) => placeOf(spans, micros), folds: foldsOf(spans), begin, end };
}

function joined(work: readonly { start: number; end: number }[]): Span[] {
  const busy: Span[] = [];
  for (const { start, end } of work) {
    const last = busy[busy.length - 1];
    if (last !== undefined && start <= last.end) last.end = Math.max(last.end, end);
    else busy.push({ start, end: Math.max(start, end), from: 0, to: 0 });
  }
  return busy;
}

/** Spans that touch; a folded gap is the space between two of them. */
function foldedSpans(busy: Span[], long: number): Span[] {
  const spans: Span[] = [];
  for (const span of busy) {
    const last = spans[spans.length - 1];
    if (last !== undefined && span.start - last.end <= long) last.end = span.end;
    else spans.push({ ...span });
  }
  const gaps = spans.length - 1;
  const gap = gaps === 0 ? 0 : Math.min(FOLDED, ALL_FOLDED / gaps);
  let total = 0;
  for (const span of spans) total += span.end - span.start;
  let place = 0;
  for (const span of spans) {
    const share = total === 0 ? 1 / spans.length : (span.end - span.start) / total;
    span.from = place;
    span.to = place + share * (1 - gap * gaps);
    place = span.to + gap;
  }
  return spans;
}

function foldsOf(spans: Span[]): Fold[] {
  const folds: Fold[] = [];
  for (let at = 1; at < spans.length; at++) {
    const before = spans[at - 1] as Span;
    const after = spans[at] as Span;
    folds.push({ from: before.to, to: after.from, micros: after.start - before.end });
  }
  return folds;
}

function placeOf(spans: Span[], micros: number): number {
  let low = 0;
  let high = spans.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((spans[middle] as Span).start <= micros) low = middle;
    else high = middle - 1;
  }
  const span = spans[low] as Span;
  if (micros <= span.start) return span.from;
  if (micros < span.end) return span.from + ((span.to - span.from) * (micros - span.start)) / (span.end - span.start);
  const next = spans[low + 1];
  if (next === undefined || micros === span.end) return span.to;
  return span.to + ((next.from - span.to) * (micros - span.end)) / (next.start - span.end);
}
