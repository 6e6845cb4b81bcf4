/** A part of the time of a run over the whole width. */
import type { Scale } from '../../graph/scale';

/** From one moment to another, in microseconds: new steps do not move it. */
export interface Window {
  from: number;
  to: number;
}

/** Narrower than this part of the whole nothing can be told apart. */
const LEAST = 1e-4;

/** The moment at a place of the line, 0 to 1. */
export function momentAt(scale: Scale, place: number): number {
  let [low, high] = [scale.begin, scale.end];
  for (let at = 0; at < 50 && high - low > 0.5; at += 1) {
    const middle = (low + high) / 2;
    if (scale.at(middle) < place) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The scale with the window over its whole width; what lies outside is left of 0 and right of 1. */
export function zoomed(scale: Scale, window: Window | null): Scale {
  if (window === null) return scale;
  const from = scale.at(window.from);
  const part = Math.max(LEAST, scale.at(window.to) - from);
  const place = (at: number) => (at - from) / part;
  return {
    ...scale,
    at: (micros) => place(scale.at(micros)),
    folds: scale.folds.map((fold) => ({ ...fold, from: place(fold.from), to: place(fold.to) })),
  };
}

/** Two places of the line as it is shown now, as a window; null if it is the whole. */
export function windowOf(scale: Scale, shown: Window | null, one: number, other: number): Window | null {
  const from = shown === null ? 0 : scale.at(shown.from);
  const part = shown === null ? 1 : Math.max(LEAST, scale.at(shown.to) - from);
  const place = (at: number) => Math.min(1, Math.max(0, from + at * part));
  let [left, right] = [place(Math.min(one, other)), place(Math.max(one, other))];
  if (right - left < LEAST) [left, right] = [left - LEAST / 2, right + LEAST / 2];
  if (left <= 0 && right >= 1) return null;
  return { from: momentAt(scale, left), to: momentAt(scale, right) };
}
