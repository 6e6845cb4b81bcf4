import { QueryClient } from '@tanstack/react-query';
import { describe, expect, it, vi } from 'vitest';
import { boundSteps, type Kept, surplus } from './kept';

const kept = (step: string, usedAt: number, bytes = 10, shown = false): Kept => ({ step, usedAt, bytes, shown });

describe('payloads of steps', () => {
  it('are kept for so many steps, the newest of them', () => {
    const all = [kept('a:1', 1), kept('a:2', 3), kept('a:3', 2)];
    expect(surplus(all, 2, 1_000).map((one) => one.step)).toEqual(['a:1']);
    expect(surplus(all, 3, 1_000)).toEqual([]);
  });
  it('are kept up to so many bytes, and the parts of a step go together', () => {
    const all = [kept('a:1', 1, 60), kept('a:1', 2, 60), kept('a:2', 3, 60)];
    expect(surplus(all, 50, 100)).toEqual([all[0], all[1]]);
  });
  it('stay as long as they are on the screen', () => {
    expect(surplus([kept('a:1', 1, 900, true), kept('a:2', 2, 900)], 50, 100).map((one) => one.step)).toEqual(['a:2']);
  });
  it('leave the cache of the page', async () => {
    vi.useFakeTimers();
    const client = new QueryClient();
    const stop = boundSteps(client);
    for (let seq = 1; seq <= 60; seq += 1) {
      vi.setSystemTime(seq * 1000);
      client.setQueryData(['step', 'run', seq], { output: seq });
    }
    client.setQueryData(['run', 'run'], { id: 'run' });
    vi.advanceTimersByTime(1000);
    const left = client.getQueryCache().findAll({ queryKey: ['step'] });
    expect(left.map((query) => query.queryKey[2])).toEqual(Array.from({ length: 50 }, (_, at) => at + 11));
    expect(client.getQueryData(['run', 'run'])).toEqual({ id: 'run' });
    stop();
    client.clear();
    vi.useRealTimers();
  });
});
