/** One stream of `/api/events`: opens it, reads it, opens it again. Tabs and locks are the business of `live.ts`. */
import { raw } from './client';
import { asApiError } from './error';
import { read } from './json';
import type { LiveEvent, LiveState, Wanted } from './live-types';
import { topicList } from './live-types';
import { type SentEvent, SseParser } from './sse';

export const SILENCE_MS = 40_000;
export const FIRST_DELAY_MS = 500;
export const LAST_DELAY_MS = 30_000;

/** What the stream takes from the world; tests give their own. */
export interface StreamWorld {
  open: (topics: string, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  setTimer: (act: () => void, ms: number) => unknown;
  clearTimer: (timer: unknown) => void;
  random: () => number;
}

export const world: StreamWorld = {
  open: async (topics, signal) => {
    const answer = await raw('GET', '/api/events', { query: { topics }, headers: { accept: 'text/event-stream' }, signal });
    if (!answer.body) throw new Error('the stream has no body');
    return pieces(answer.body);
  },
  setTimer: (act, ms) => setTimeout(act, ms),
  clearTimer: (timer) => clearTimeout(timer as number),
  random: Math.random,
};

async function* pieces(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    reader.cancel().catch(() => undefined);
  }
}

export function backoff(failures: number, random: number): number {
  const full = Math.min(LAST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 10));
  return full * (0.5 + random / 2);
}

export class LiveStream {
  #wanted: Wanted = { topics: [], runs: [] };
  #abort: AbortController | null = null;
  #timer: unknown = null;
  #silence: unknown = null;
  #failures = 0;
  #opened = false;
  #stopped = false;

  constructor(
    private readonly on: (event: LiveEvent) => void,
    private readonly onState: (state: LiveState) => void,
    private readonly w: StreamWorld = world,
  ) {}

  /** Other topics are another stream; the cursors of runs that stay go on. */
  want(wanted: Wanted): void {
    this.#wanted = wanted;
    this.#failures = 0;
    this.#begin();
  }

  /** "Try now". */
  again(): void {
    this.#failures = 0;
    this.#begin();
  }

  stop(): void {
    this.#stopped = true;
    this.#end();
  }

  #end(): void {
    this.w.clearTimer(this.#timer);
    this.w.clearTimer(this.#silence);
    this.#abort?.abort();
    this.#abort = null;
  }

  #begin(): void {
    this.#end();
    if (this.#stopped || (this.#wanted.topics.length === 0 && this.#wanted.runs.length === 0)) return;
    const abort = new AbortController();
    this.#abort = abort;
    this.#read(abort).then(
      () => this.#broken(abort, null),
      (thrown: unknown) => this.#broken(abort, thrown),
    );
  }

  async #read(abort: AbortController): Promise<void> {
    this.#alive(abort);
    const body = await this.w.open(topicList(this.#wanted), abort.signal);
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for await (const piece of body) {
      if (abort.signal.aborted) return;
      this.#alive(abort);
      for (const event of parser.push(decoder.decode(piece, { stream: true }))) await this.#event(event);
    }
  }

  /** Silence of 40 s is a dead stream: a proxy or a laptop lid does not say good-bye. */
  #alive(abort: AbortController): void {
    this.w.clearTimer(this.#silence);
    this.#silence = this.w.setTimer(() => {
      abort.abort();
      this.#broken(abort, new Error('silence'));
    }, SILENCE_MS);
  }

  async #event(sent: SentEvent): Promise<void> {
    if (sent.event === 'hello') {
      this.#failures = 0;
      this.onState('live');
      // What happened between the last reading and this stream is unknown: lists are read again, runs go on at their version.
      if (this.#opened) this.on({ type: 'reset' });
      this.#opened = true;
      return;
    }
    const data = read(sent.data) as unknown as Record<string, unknown>;
    const event = { type: sent.event, ...data } as LiveEvent;
    if (event.type === 'run') this.#told(event.id, event.version, event.kind);
    this.on(event);
  }

  #told(id: string, version: number, kind: string): void {
    const runs = this.#wanted.runs;
    if (kind === 'gone') this.#wanted = { ...this.#wanted, runs: runs.filter((run) => run.id !== id) };
    else
      this.#wanted = { ...this.#wanted, runs: runs.map((run) => (run.id === id ? { id, version: Math.max(version, run.version) } : run)) };
  }

  #broken(abort: AbortController, thrown: unknown): void {
    if (this.#abort !== abort || this.#stopped) return;
    this.#end();
    const status = thrown === null ? 0 : asApiError(thrown).status;
    // A server without this call, or that refuses it, is asked by polling; the stream is tried again much later.
    const refused = status === 400 || status === 404 || status === 401 || status === 403;
    this.onState(refused ? 'polling' : 'reconnecting');
    const delay = refused ? LAST_DELAY_MS * 2 : backoff(this.#failures, this.w.random());
    this.#failures += 1;
    this.#timer = this.w.setTimer(() => this.#begin(), delay);
  }
}
