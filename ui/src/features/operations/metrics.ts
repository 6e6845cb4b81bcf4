/** What `/metrics` of this server says, read again and again while the page is open: its counters as rates. Pure, but for the reading. */
import { raw } from '../../api/client';

export interface Sample {
  /** Seconds, by the clock of this browser. */
  at: number;
  started: number;
  ended: number;
  steps: number;
  commits: number;
  commitSeconds: number;
  memory: number;
}

const COUNTED = {
  started: 'pawl_executions_started_total',
  ended: 'pawl_executions_ended_total',
  steps: 'pawl_steps_total',
  commits: 'pawl_commit_duration_seconds_count',
  commitSeconds: 'pawl_commit_duration_seconds_sum',
  memory: 'pawl_process_resident_memory_bytes',
} as const;

/** Sums over all labels of a metric; one that is not there is 0. */
export function readSample(text: string, at: number): Sample {
  const sums = new Map<string, number>();
  for (const line of text.split('\n')) {
    const found = /^(\w+)(?:\{.*\})? (\S+)/.exec(line);
    if (found?.[1] && Number.isFinite(Number(found[2]))) sums.set(found[1], (sums.get(found[1]) ?? 0) + Number(found[2]));
  }
  const values = Object.entries(COUNTED).map(([name, metric]) => [name, sums.get(metric) ?? 0]);
  return { at, ...(Object.fromEntries(values) as Omit<Sample, 'at'>) };
}

export interface Rates {
  at: number[];
  /** A second. Null where nothing is known: the process began anew, and its counters with it. */
  started: (number | null)[];
  ended: (number | null)[];
  steps: (number | null)[];
  /** How long a commit took on average; null where there was none. */
  commitMs: (number | null)[];
  memory: number[];
}

/** Between each sample and the one before it. */
export function ratesOf(samples: readonly Sample[]): Rates {
  const pairs = samples.slice(1).map((now, at) => ({ now, before: samples[at] as Sample }));
  const grown = (name: 'started' | 'ended' | 'steps' | 'commits' | 'commitSeconds', { now, before }: (typeof pairs)[number]) =>
    now[name] < before[name] || now.at <= before.at ? null : now[name] - before[name];
  const rate = (name: 'started' | 'ended' | 'steps') =>
    pairs.map((pair) => {
      const more = grown(name, pair);
      return more === null ? null : more / (pair.now.at - pair.before.at);
    });
  return {
    at: pairs.map(({ now }) => now.at),
    started: rate('started'),
    ended: rate('ended'),
    steps: rate('steps'),
    commitMs: pairs.map((pair) => {
      const [count, seconds] = [grown('commits', pair), grown('commitSeconds', pair)];
      return count && seconds !== null ? (seconds / count) * 1000 : null;
    }),
    memory: pairs.map(({ now }) => now.memory),
  };
}

export async function sampleNow(signal: AbortSignal): Promise<Sample> {
  const answer = await raw('GET', '/metrics', { signal, headers: { accept: 'text/plain' } });
  return readSample(await answer.text(), Date.now() / 1000);
}
