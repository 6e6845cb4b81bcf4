import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { watchHealth } from './health';
import { useOnline } from './online';

const answers = (status: string) => Promise.resolve(new Response(JSON.stringify({ status })));
const server = vi.fn<(url: string, options: RequestInit) => Promise<Response>>();

describe('the watch over the services', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('fetch', server);
    // The fake clock does not move the real one of `AbortSignal.timeout`.
    vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
      const stop = new AbortController();
      setTimeout(() => stop.abort(), ms);
      return stop.signal;
    });
  });
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  it('looks at once, and goes on after a call that is never answered', async () => {
    server.mockImplementationOnce(() => answers('degraded'));
    server.mockImplementationOnce(
      (_, { signal }) => new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    );
    server.mockImplementation(() => answers('ok'));
    watchHealth();
    await vi.advanceTimersByTimeAsync(1);
    expect(useOnline.getState().degraded).toBe(true);
    await vi.advanceTimersByTimeAsync(6_900);
    expect(useOnline.getState().degraded).toBe(true);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(useOnline.getState().degraded).toBe(false);
  });
});
