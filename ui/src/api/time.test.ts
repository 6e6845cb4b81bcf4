import { describe, expect, it } from 'vitest';
import { absolute, between, parseSpan, parseTime } from './time';

describe('times with microseconds', () => {
  it('reads them whole', () => {
    expect(parseTime('2026-11-18T12:03:11.000417Z')).toEqual({ ms: Date.parse('2026-11-18T12:03:11.000Z'), micros: 417 });
    expect(parseTime('2026-11-18T12:03:11.999999Z')).toEqual({ ms: Date.parse('2026-11-18T12:03:11.999Z'), micros: 999 });
    expect(parseTime('2026-11-18T12:03:11Z').micros).toBe(0);
    expect(parseTime('2026-11-18T14:03:11.5+02:00').ms).toBe(Date.parse('2026-11-18T12:03:11.500Z'));
  });
  it('measures less than a millisecond, also across one', () => {
    expect(between('2026-01-01T00:00:00.000999Z', '2026-01-01T00:00:00.001000Z')).toBeCloseTo(0.001, 6);
    expect(between('2026-01-01T00:00:00.000100Z', '2026-01-01T00:00:00.000500Z')).toBeCloseTo(0.4, 6);
    expect(between('2026-01-01T00:00:01Z', '2026-01-01T00:00:00.5Z')).toBe(-500);
  });
  it('refuses what is no time', () => {
    expect(() => parseTime('soon')).toThrow();
    expect(() => parseTime('2026-13-40T99:00:00Z')).toThrow();
  });
  it('turns relative times of an address into absolute ones', () => {
    expect(parseSpan('24h')).toBe(86_400_000);
    expect(parseSpan('5x')).toBeNull();
    expect(absolute('1h', Date.parse('2026-01-01T01:00:00Z'))).toBe('2026-01-01T00:00:00.000Z');
    expect(absolute('2026-01-01T00:00:00Z')).toBe('2026-01-01T00:00:00Z');
  });
});
