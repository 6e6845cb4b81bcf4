import type { Execution, Step } from './model';

export type Topic = 'executions' | 'letters' | 'workers' | 'schemas';

/** A run to watch, and the `event_version` from which on. */
export interface RunTopic {
  id: string;
  version: number;
}

export type RunEvent = { type: 'run'; id: string; version: number } & (
  | { kind: 'step'; step: Step }
  | { kind: 'status' | 'end'; execution: Execution }
  | { kind: 'gone' }
);

export type LiveEvent =
  /** These runs were created or changed; `more`: others too. */
  | { type: 'runs'; ids: string[]; more: boolean }
  | { type: 'letters' | 'workers' | 'schemas' }
  | RunEvent
  /** Something may have been missed, or it is time to poll: read again what is shown. */
  | { type: 'reset' };

export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'polling' | 'hidden';

export interface Wanted {
  topics: Topic[];
  runs: RunTopic[];
}

/** At most so many runs in one stream; the last wanted win. */
export const MOST_RUNS = 16;

export function sameWanted(a: Wanted, b: Wanted): boolean {
  return key(a) === key(b);
}

function key(wanted: Wanted): string {
  return (
    [...wanted.topics].sort().join() +
    [...wanted.runs]
      .map((run) => run.id)
      .sort()
      .join()
  );
}

/** What all tabs want together. A run wanted twice is told from the earlier version on. */
export function joined(all: Iterable<Wanted>): Wanted {
  const topics = new Set<Topic>();
  const runs = new Map<string, number>();
  for (const one of all) {
    for (const topic of one.topics) topics.add(topic);
    for (const run of one.runs) {
      const before = runs.get(run.id);
      runs.delete(run.id);
      runs.set(run.id, Math.min(before ?? run.version, run.version));
    }
  }
  const last = [...runs].slice(-MOST_RUNS);
  return { topics: [...topics].sort(), runs: last.map(([id, version]) => ({ id, version })) };
}

export function topicList(wanted: Wanted): string {
  return [...wanted.topics, ...wanted.runs.map((run) => `run:${run.id}@${run.version}`)].join();
}
