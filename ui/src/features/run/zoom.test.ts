import { describe, expect, it } from 'vitest';
import { timeScale } from '../../graph/scale';
import { momentAt, windowOf, zoomed } from './zoom';

const HOUR = 3_600_000_000;
/** 10 ms of work, an hour of nothing, 10 ms of work. */
const scale = timeScale([
  { start: 0, end: 10_000 },
  { start: HOUR, end: HOUR + 10_000 },
]);

describe('the zoom of the timeline', () => {
  it('finds the moment of a place, also beside a folded gap', () => {
    for (const micros of [0, 2_000, 9_000, HOUR + 1_000, HOUR + 10_000])
      expect(Math.abs(momentAt(scale, scale.at(micros)) - micros), String(micros)).toBeLessThan(2);
  });
  it('spreads a window over the whole width', () => {
    const window = windowOf(scale, null, scale.at(2_000), scale.at(4_000));
    const shown = zoomed(scale, window);
    expect(shown.at(2_000)).toBeCloseTo(0, 2);
    expect(shown.at(3_000)).toBeCloseTo(0.5, 2);
    expect(shown.at(4_000)).toBeCloseTo(1, 2);
    expect(shown.at(0)).toBeLessThan(0);
    expect(shown.folds[0]?.from).toBeGreaterThan(1);
  });
  it('goes deeper from what is shown, and ends at the whole', () => {
    const half = windowOf(scale, null, 0, scale.at(8_000));
    const deeper = windowOf(scale, half, 0.5, 0.25);
    expect(zoomed(scale, deeper).at(2_000)).toBeCloseTo(0, 2);
    expect(zoomed(scale, deeper).at(4_000)).toBeCloseTo(1, 2);
    expect(windowOf(scale, half, -5, 9)).toBeNull();
    expect(zoomed(scale, null)).toBe(scale);
  });
  it('is never so narrow that places are lost', () => {
    const point = zoomed(scale, windowOf(scale, null, 0.2, 0.2));
    expect(Number.isFinite(point.at(5_000))).toBe(true);
  });
});
