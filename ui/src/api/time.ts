/** Times of the API are RFC 3339 with microseconds: steps often take less than a millisecond, which `Date` cannot say. */

export interface Instant {
  /** Milliseconds since 1970. */
  ms: number;
  /** The microseconds below them, 0 to 999. */
  micros: number;
}

const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/;

export function parseTime(text: string): Instant {
  const found = RFC3339.exec(text);
  const ms = Date.parse(text);
  if (!found || Number.isNaN(ms)) throw new Error(`not a time: ${text}`);
  const digits = (found[1] ?? '').padEnd(6, '0').slice(0, 6);
  return { ms: Math.floor(ms / 1000) * 1000 + Number(digits.slice(0, 3)), micros: Number(digits.slice(3)) };
}

/** Milliseconds between two times, with fractions. */
export function between(from: string, to: string): number {
  const [a, b] = [parseTime(from), parseTime(to)];
  return b.ms - a.ms + (b.micros - a.micros) / 1000;
}

const UNITS: Record<string, number> = { s: 1e3, m: 6e4, h: 36e5, d: 864e5 };

/** `24h`, `90m`, `7d`: milliseconds, or null. */
export function parseSpan(text: string): number | null {
  const found = /^(\d{1,6})([smhd])$/.exec(text);
  return found ? Number(found[1]) * (UNITS[found[2] ?? ''] ?? 0) : null;
}

/** An address keeps `24h` as it is; a request needs the time that it means now. */
export function absolute(text: string, now = Date.now()): string {
  const span = parseSpan(text);
  return span === null ? text : new Date(now - span).toISOString();
}

let skew = 0;

/** What the server's clock is ahead of this one, from `server_time`. */
export function setServerTime(text: string): void {
  skew = parseTime(text).ms - Date.now();
}

/** Now, by the server's clock: countdowns are about its timers. */
export function serverNow(): number {
  return Date.now() + skew;
}
