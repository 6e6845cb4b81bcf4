/** The delays between the tries of a node, for people: without jitter, which shortens each by up to a half. */
const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

/** `1h30m`, `250ms`, a number of seconds; null for what only the engine can read. */
export function durationMs(value: unknown): number | null {
  if (typeof value === 'number') return value * 1000;
  if (typeof value !== 'string' || !/^(\d+(ms|[smhdw]))+$/.test(value)) return null;
  return [...value.matchAll(/(\d+)(ms|[smhdw])/g)].reduce((sum, match) => sum + Number(match[1]) * (UNITS[match[2] ?? ''] ?? 0), 0);
}

const SHOWN = 6;

export function delays(retry: Record<string, unknown>): { shown: number[]; more: boolean; total: number } | null {
  const attempts = typeof retry.max_attempts === 'number' ? retry.max_attempts : 3;
  const delay = durationMs(retry.delay ?? '5s');
  const most = durationMs(retry.max_delay ?? '1m');
  if (delay === null || most === null || retry.enabled === false || attempts < 2 || attempts > 1000) return null;
  const limit = retry.max_delay === undefined ? Math.max(most, delay) : most;
  const all = Array.from({ length: attempts - 1 }, (_, at) => Math.min(limit, nth(retry.backoff, delay, at)));
  return { shown: all.slice(0, SHOWN), more: all.length > SHOWN, total: all.reduce((sum, one) => sum + one, 0) };
}

function nth(backoff: unknown, delay: number, at: number): number {
  if (backoff === 'fixed') return delay;
  return backoff === 'linear' ? delay * (at + 1) : delay * 2 ** at;
}
