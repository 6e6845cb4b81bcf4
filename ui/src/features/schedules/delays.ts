/** The delays between the tries of one firing, as the documentation of timers defines them. */
import type { Draft } from './draft';

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `90s`, `1h30m`, `500ms`; null if it is no duration. */
export function durationMs(text: string): number | null {
  const trimmed = text.trim();
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(trimmed)) return null;
  let sum = 0;
  for (const [, value, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) sum += Number(value) * (UNITS[unit ?? ''] ?? 0);
  return sum;
}

const SHOWN = 8;

/** Null if a field cannot be read. */
export function delays(draft: Draft): number[] | null {
  const [min, max, scale] = [durationMs(draft.min), durationMs(draft.max), durationMs(draft.scale)];
  const [count, backoff] = [Number(draft.retries), Number(draft.backoff)];
  if (min === null || max === null || scale === null || !Number.isInteger(count) || count < 0 || !(backoff >= 0)) return null;
  return Array.from({ length: Math.min(count, SHOWN) }, (_, failures) => Math.min(max, min + scale * backoff ** failures));
}
