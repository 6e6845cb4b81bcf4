/** Numbers, sizes, durations, times in words; by `Intl`, so for every language at once. */
import { parseTime } from '../api/time';
import { type Language, useTexts } from '../messages';

const cache = new Map<string, unknown>();

function kept<T>(key: string, make: () => T): T {
  const found = cache.get(key) as T | undefined;
  if (found !== undefined) return found;
  const made = make();
  cache.set(key, made);
  return made;
}

function lang(): Language {
  return useTexts.getState().language;
}

export function formatNumber(value: number | bigint, digits = 0): string {
  const language = lang();
  return kept(`n${language}${digits}`, () => new Intl.NumberFormat(language, { maximumFractionDigits: digits })).format(value);
}

type Unit = 'microsecond' | 'millisecond' | 'second' | 'minute' | 'hour' | 'day' | 'byte' | 'kilobyte' | 'megabyte' | 'gigabyte';

function unit(value: number, of: Unit, digits: number): string {
  const language = lang();
  const format = kept(
    `u${language}${of}${digits}`,
    () => new Intl.NumberFormat(language, { style: 'unit', unit: of, unitDisplay: 'narrow', maximumFractionDigits: digits }),
  );
  // English narrow units stick to the number ("15ms"); a space reads better in columns of numbers.
  return format
    .formatToParts(value)
    .map((part) => (part.type === 'unit' ? ` ${part.value.trim()}` : part.type === 'literal' ? '' : part.value))
    .join('')
    .trim();
}

/** `0.4 ms`, `15 ms`, `2.4 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`. */
export function formatDuration(ms: number): string {
  const sign = ms < 0 ? '−' : '';
  const at = Math.abs(ms);
  return sign + (at < 60_000 ? short(at) : long(at));
}

function short(ms: number): string {
  if (ms < 1) return unit(ms, 'millisecond', 2);
  if (ms < 10) return unit(ms, 'millisecond', 1);
  if (ms < 1000) return unit(ms, 'millisecond', 0);
  return unit(Math.floor(ms / 100) / 10, 'second', ms < 10_000 ? 1 : 0);
}

function long(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [d, h, m, s] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  const parts: [number, Unit][] =
    d > 0
      ? [
          [d, 'day'],
          [h, 'hour'],
        ]
      : h > 0
        ? [
            [h, 'hour'],
            [m, 'minute'],
          ]
        : [
            [m, 'minute'],
            [s, 'second'],
          ];
  return parts
    .filter(([value], at) => at === 0 || value > 0)
    .map(([value, of]) => unit(value, of, 0))
    .join(' ');
}

/** `512 byte`, `1.2 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return unit(bytes, 'byte', 0);
  if (bytes < 1e6) return unit(bytes / 1e3, 'kilobyte', bytes < 1e4 ? 1 : 0);
  if (bytes < 1e9) return unit(bytes / 1e6, 'megabyte', bytes < 1e7 ? 1 : 0);
  return unit(bytes / 1e9, 'gigabyte', 1);
}

export type TimeStyle = 'time' | 'date' | 'full' | 'exact';

const STYLES: Record<TimeStyle, Intl.DateTimeFormatOptions> = {
  time: { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  date: { day: 'numeric', month: 'short', year: 'numeric' },
  full: { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
  exact: { day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' },
};

export function formatTime(text: string, style: TimeStyle, zone?: string): string {
  const language = lang();
  const { ms, micros } = parseTime(text);
  const format = kept(`t${language}${style}${zone ?? ''}`, () => new Intl.DateTimeFormat(language, { ...STYLES[style], timeZone: zone }));
  const said = format.format(ms);
  if (style !== 'exact') return said;
  const fraction = String(((ms % 1000) + 1000) % 1000).padStart(3, '0') + String(micros).padStart(3, '0');
  return `${said}.${fraction}`;
}

/** Times of today without their date. */
export function timeStyleFor(text: string, now: number, zone?: string): TimeStyle {
  const day = (ms: number) => kept(`d${zone ?? ''}`, () => new Intl.DateTimeFormat('en-CA', { timeZone: zone })).format(ms);
  const { ms } = parseTime(text);
  if (day(ms) === day(now)) return 'time';
  return Math.abs(now - ms) < 300 * 864e5 ? 'full' : 'date';
}
