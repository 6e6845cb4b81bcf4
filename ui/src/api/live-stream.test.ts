import { describe, expect, it } from 'vitest';
import { ApiError } from './error';
import { backoff, LAST_DELAY_MS, LiveStream, SILENCE_MS, type StreamWorld } from './live-stream';
import { joined, type LiveEvent, MOST_RUNS, topicList } from './live-types';
import { SseParser } from './sse';

/** A server and a clock in the hand of the test. */
class FakeWorld implements StreamWorld {
  now = 0;
  timers: { at: number; act: () => void }[] = [];
  opened: string[] = [];
  refuse: ApiError | null = null;
  #send: ((text: string | null) => void) | null = null;
  random = () => 1;
  setTimer = (act: () => void, ms: number) => {
    const timer = { at: this.now + ms, act };
    this.timers.push(timer);
    return timer;
  };
  clearTimer = (timer: unknown) => {
    this.timers = this.timers.filter((one) => one !== timer);
  };
  open = async (topics: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> => {
    this.opened.push(topics);
    if (this.refuse) throw this.refuse;
    const queue: (string | null)[] = [];
    let wake: () => void = () => undefined;
    this.#send = (text) => {
      queue.push(text);
      wake();
    };
    signal.addEventListener('abort', () => wake());
    return {
      async *[Symbol.asyncIterator]() {
        for (;;) {
          while (queue.length === 0 && !signal.aborted) await new Promise<void>((resolve) => (wake = resolve));
          const text = queue.shift();
          if (text === null || text === undefined) return;
          yield new TextEncoder().encode(text);
        }
      },
    };
  };
  async send(text: string | null) {
    this.#send?.(text);
    await settle();
  }
  async pass(ms: number) {
    this.now += ms;
    for (const timer of this.timers.filter((one) => one.at <= this.now)) {
      this.clearTimer(timer);
      timer.act();
    }
    await settle();
  }
}

const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 5));
const HELLO = 'event: hello\ndata: {"version":"1"}\n\n';
const run = (version: number, seq: number) => `event: run\ndata: {"id":"r","version":${version},"kind":"step","step":{"seq":${seq}}}\n\n`;

async function open() {
  const world = new FakeWorld();
  const events: LiveEvent[] = [];
  const states: string[] = [];
  const stream = new LiveStream(
    (event) => events.push(event),
    (state) => states.push(state),
    world,
  );
  stream.want({ topics: ['executions'], runs: [{ id: 'r', version: 3 }] });
  await settle();
  return { world, events, states, stream };
}

describe('the live stream', () => {
  it('asks for its topics and gives events on, in pieces of any size', async () => {
    const { world, events, states } = await open();
    expect(world.opened).toEqual(['executions,run:r@3']);
    await world.send(HELLO);
    const text = 'event: runs\ndata: {"ids":["a"],"more":false}\n\n';
    for (const piece of [text.slice(0, 7), text.slice(7, 31), text.slice(31)]) await world.send(piece);
    expect(states).toEqual(['live']);
    expect(events).toEqual([{ type: 'runs', ids: ['a'], more: false }]);
  });
  it('after a loss goes on at the version told last, and says "read again"', async () => {
    const { world, events, states } = await open();
    await world.send(HELLO + run(7, 4));
    await world.send(null);
    expect(states.at(-1)).toBe('reconnecting');
    await world.pass(1000);
    expect(world.opened).toEqual(['executions,run:r@3', 'executions,run:r@7']);
    await world.send(HELLO);
    expect(events.at(-1)).toEqual({ type: 'reset' });
  });
  it('takes 40 s of silence for a loss, and a comment for a sign of life', async () => {
    const { world, states } = await open();
    await world.send(HELLO);
    await world.pass(SILENCE_MS - 1000);
    await world.send(': still here\n\n');
    await world.pass(SILENCE_MS - 1000);
    expect(states).toEqual(['live']);
    await world.pass(2000);
    expect(states.at(-1)).toBe('reconnecting');
  });
  it('asks by polling where the call is refused', async () => {
    const world = new FakeWorld();
    world.refuse = new ApiError(404, 'NOT_FOUND', 'no such route');
    const states: string[] = [];
    const stream = new LiveStream(
      () => undefined,
      (state) => states.push(state),
      world,
    );
    stream.want({ topics: ['executions'], runs: [] });
    await settle();
    expect(states).toEqual(['polling']);
    await world.pass(LAST_DELAY_MS);
    expect(world.opened).toHaveLength(1);
    stream.stop();
    expect(world.timers).toEqual([]);
  });
  it('waits longer and longer, never more than 30 s', () => {
    expect([0, 1, 2, 20].map((failures) => backoff(failures, 1))).toEqual([500, 1000, 2000, 30_000]);
    expect(backoff(0, 0)).toBe(250);
  });
});

describe('what all tabs want together', () => {
  it('is one list, a run from its earliest version on', () => {
    const all = joined([
      { topics: ['schemas', 'executions'], runs: [{ id: 'a', version: 9 }] },
      { topics: ['executions'], runs: [{ id: 'a', version: 4 }] },
    ]);
    expect(topicList(all)).toBe('executions,schemas,run:a@4');
  });
  it('has no more runs than the server takes; the last wanted stay', () => {
    const runs = Array.from({ length: 30 }, (_, at) => ({ id: `r${at}`, version: 0 }));
    const kept = joined([{ topics: [], runs }]).runs;
    expect(kept).toHaveLength(MOST_RUNS);
    expect(kept.at(-1)?.id).toBe('r29');
  });
});

describe('server-sent events', () => {
  it('joins lines of data, takes CRLF, leaves comments out', () => {
    const parser = new SseParser();
    expect(parser.push(': hi\r\nevent: a\r\ndata: 1\r\ndata: 2\r\n\r\ndata:3\n\nevent: none\n\n')).toEqual([
      { event: 'a', data: '1\n2' },
      { event: 'message', data: '3' },
    ]);
  });
});
