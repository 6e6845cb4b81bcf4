import { describe, expect, it } from 'vitest';
import { RunFeed } from './live-feed';
import type { RunEvent } from './live-types';
import type { Execution, Step } from './model';

const step = (seq: number, version = seq): RunEvent => ({
  type: 'run',
  id: 'r',
  version,
  kind: 'step',
  step: { seq, node_id: `n${seq}` } as Step,
});
const status = (version: number, seq: number): RunEvent => ({
  type: 'run',
  id: 'r',
  version,
  kind: 'status',
  execution: { seq, event_version: version } as Execution,
});
const seqs = (steps: Step[]) => steps.map((one) => one.seq);

describe('the steps of a run out of a stream', () => {
  it('gives them on in order', () => {
    const feed = new RunFeed(2, 2);
    expect(seqs(feed.push(step(3)).steps)).toEqual([3]);
    expect(feed.push(step(4))).toMatchObject({ gap: false });
    expect(feed.lastSeq).toBe(4);
  });
  it('drops doubles after a resume', () => {
    const feed = new RunFeed(0, 0);
    feed.push(step(1));
    feed.push(step(2));
    expect(feed.push(step(1)).steps).toEqual([]);
    expect(feed.push(step(2))).toMatchObject({ steps: [], gap: false });
  });
  it('holds back what is ahead until the gap closes', () => {
    const feed = new RunFeed(0, 0);
    expect(feed.push(step(2))).toMatchObject({ steps: [], gap: true });
    expect(feed.push(step(3))).toMatchObject({ steps: [], gap: true });
    const closed = feed.push(step(1));
    expect(seqs(closed.steps)).toEqual([1, 2, 3]);
    expect(closed.gap).toBe(false);
  });
  it('after a loss goes on with what was read again', () => {
    const feed = new RunFeed(0, 0);
    feed.push(step(5));
    expect(seqs(feed.caughtUp(4))).toEqual([5]);
    expect(feed.lastSeq).toBe(5);
    expect(feed.caughtUp(3)).toEqual([]);
  });
  it('in any order each step comes out once and sorted', () => {
    const orders = [
      [4, 2, 1, 3, 2, 5, 1],
      [5, 4, 3, 2, 1, 5],
      [1, 1, 3, 5, 2, 4, 3],
    ];
    for (const order of orders) {
      const feed = new RunFeed(0, 0);
      expect(order.flatMap((seq) => seqs(feed.push(step(seq)).steps))).toEqual([1, 2, 3, 4, 5]);
    }
  });
  it('an older state never covers a newer one', () => {
    const feed = new RunFeed(3, 9);
    expect(feed.push(status(8, 3)).execution).toBeNull();
    expect(feed.push(status(10, 3)).execution?.event_version).toBe(10);
    expect(feed.version).toBe(10);
  });
  it('a state that knows more steps than came is a gap', () => expect(new RunFeed(3, 9).push(status(12, 5)).gap).toBe(true));
  it('a run that is gone says so', () =>
    expect(new RunFeed(0, 0).push({ type: 'run', id: 'r', version: 0, kind: 'gone' }).gone).toBe(true));
});
