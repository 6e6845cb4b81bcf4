import { describe, expect, it } from 'vitest';
import { setLanguage } from '../messages';
import { formatBytes, formatDuration, formatTime, timeStyleFor } from './format';

describe('numbers in words', () => {
  it('durations', () => {
    expect([0.417, 3.14, 15.2, 2400, 59_000, 200_000, 7_500_000, 270_000_000].map(formatDuration)).toEqual([
      '0.42 ms',
      '3.1 ms',
      '15 ms',
      '2.4 s',
      '59 s',
      '3 m 20 s',
      '2 h 5 m',
      '3 d 3 h',
    ]);
  });
  it('sizes', () => expect([12, 1200, 64_000, 1_200_000].map(formatBytes)).toEqual(['12 B', '1.2 kB', '64 kB', '1.2 MB']));
  it('in Russian too', async () => {
    await setLanguage('ru');
    expect(formatDuration(2400)).toBe('2,4 с');
    await setLanguage('en');
  });
  it('exact times show the microseconds', () =>
    expect(formatTime('2026-11-18T12:03:11.000417Z', 'exact', 'UTC')).toMatch(/12:03:11\.000417$/));
  it('times of today go without their date', () => {
    const now = Date.parse('2026-11-18T12:00:00Z');
    expect(timeStyleFor('2026-11-18T01:00:00Z', now, 'UTC')).toBe('time');
    expect(timeStyleFor('2026-11-17T23:00:00Z', now, 'UTC')).toBe('full');
    expect(timeStyleFor('2020-11-17T23:00:00Z', now, 'UTC')).toBe('date');
  });
});
