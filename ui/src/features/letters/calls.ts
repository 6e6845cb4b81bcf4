import { api, path } from '../../api/client';
import type { DeadLetter, Execution } from '../../api/model';

export interface WholeLetter extends DeadLetter {
  message: string | null;
}

export interface Requeued {
  action: 'look' | 'retry' | 'start' | 'none';
  letter: DeadLetter;
  execution: Execution;
}

export interface LetterCount {
  count: number;
  capped: boolean;
}

export interface Outcomes {
  looked: number;
  retried: number;
  started: number;
  nothing: number;
  refused: number;
  failed: number;
}

export interface BulkAnswer {
  matched: number;
  capped: boolean;
  outcomes: Outcomes | null;
  refused: { id: number; error: string; message: string }[];
  next: string | null;
}

export const NO_OUTCOMES: Outcomes = { looked: 0, retried: 0, started: 0, nothing: 0, refused: 0, failed: 0 };

export const BULK = '/api/dead-letters/bulk';

function filterOf(reason: string) {
  return { open: true, reason: reason || undefined };
}

/** A line for the terminal asks for the same. */
export function requeueAllBody(reason: string) {
  return { filter: filterOf(reason), action: 'requeue', dry_run: false };
}

export function countForRequeue(reason: string): Promise<BulkAnswer> {
  return api.post<BulkAnswer>(BULK, { filter: filterOf(reason), action: 'requeue', dry_run: true });
}

/** Part after part; `onPart` hears the sum so far. */
export async function requeueAll(
  reason: string,
  onPart: (sum: Outcomes) => void,
): Promise<{ sum: Outcomes; refused: BulkAnswer['refused'] }> {
  let cursor: string | null = null;
  let sum = NO_OUTCOMES;
  const refused: BulkAnswer['refused'] = [];
  do {
    const body: Record<string, unknown> = { ...requeueAllBody(reason), cursor: cursor ?? undefined };
    const answer: BulkAnswer = await api.post<BulkAnswer>(BULK, body);
    sum = added(sum, answer.outcomes ?? NO_OUTCOMES);
    refused.push(...answer.refused);
    onPart(sum);
    cursor = answer.next;
  } while (cursor !== null);
  return { sum, refused };
}

function added(a: Outcomes, b: Outcomes): Outcomes {
  return {
    looked: a.looked + b.looked,
    retried: a.retried + b.retried,
    started: a.started + b.started,
    nothing: a.nothing + b.nothing,
    refused: a.refused + b.refused,
    failed: a.failed + b.failed,
  };
}

export function requeue(id: number): Promise<Requeued> {
  return api.post<Requeued>(path('/api/dead-letters', id, 'requeue'));
}
