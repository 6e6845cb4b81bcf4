/**
 * One stream for all tabs of a browser (the server speaks HTTP/1.1: a browser opens six connections to it, in all tabs together).
 * A lock elects the visible tab that holds the stream; the others say by channel what they want and get its events. Without locks
 * (plain http on a network name) each visible tab has its own. Where the stream is refused, `reset` comes as a clock: polling.
 */
import { create } from 'zustand';
import { LiveStream } from './live-stream';
import { joined, type LiveEvent, type LiveState, type RunTopic, sameWanted, type Topic, type Wanted } from './live-types';

export { RunFeed } from './live-feed';
export type { LiveEvent, LiveState, RunEvent, RunTopic, Topic } from './live-types';

export const useLive = create<{ state: LiveState }>(() => ({ state: 'connecting' }));

type Told =
  | { kind: 'want'; tab: string; wanted: Wanted }
  | { kind: 'ask' }
  | { kind: 'bye'; tab: string }
  | { kind: 'again' }
  | { kind: 'event'; event: LiveEvent }
  | { kind: 'state'; state: LiveState };

interface Listener {
  wanted: Wanted;
  on: (event: LiveEvent) => void;
}

const LOCK = 'pawl-live';
const HIDDEN_MS = 10_000;
const POLL_MS = 2_000;
const SLOW_POLL_MS = 10_000;
const IDLE_MS = 5 * 60_000;

class Live {
  readonly #tab = Math.random().toString(36).slice(2);
  readonly #listeners = new Set<Listener>();
  readonly #tabs = new Map<string, Wanted>();
  #channel: BroadcastChannel | null = null;
  #stream: LiveStream | null = null;
  #release: (() => void) | null = null;
  #waitingForLock: AbortController | null = null;
  #hiddenTimer: ReturnType<typeof setTimeout> | undefined;
  #pollTimer: ReturnType<typeof setTimeout> | undefined;
  #settle: ReturnType<typeof setTimeout> | undefined;
  #wanted: Wanted = { topics: [], runs: [] };
  #lastInput = Date.now();
  #started = false;

  /** Calls `on` for the topics until the returned function is called. */
  watch(topics: Topic[], runs: RunTopic[], on: (event: LiveEvent) => void): () => void {
    const listener = { wanted: { topics, runs }, on };
    this.#listeners.add(listener);
    this.#start();
    this.#changed();
    return () => {
      this.#listeners.delete(listener);
      this.#changed();
    };
  }

  /** "Try now". */
  again(): void {
    this.#stream?.again();
    this.#say({ kind: 'again' });
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    if (typeof BroadcastChannel !== 'undefined') {
      this.#channel = new BroadcastChannel(LOCK);
      this.#channel.onmessage = (message: MessageEvent<Told>) => this.#heard(message.data);
    }
    document.addEventListener('visibilitychange', () => this.#visibility());
    for (const input of ['pointerdown', 'keydown'] as const)
      addEventListener(input, () => this.#touched(), { passive: true, capture: true });
    addEventListener('pagehide', () => this.#say({ kind: 'bye', tab: this.#tab }));
    this.#visibility();
  }

  #touched(): void {
    const idle = Date.now() - this.#lastInput > IDLE_MS;
    this.#lastInput = Date.now();
    if (idle && useLive.getState().state === 'polling') this.#poll(0);
  }

  #visibility(): void {
    clearTimeout(this.#hiddenTimer);
    if (document.visibilityState === 'visible') this.#elect();
    else this.#hiddenTimer = setTimeout(() => this.#resign(), HIDDEN_MS);
  }

  #elect(): void {
    if (this.#stream || this.#waitingForLock) return;
    this.#say({ kind: 'ask' });
    const locks = typeof navigator === 'undefined' ? undefined : navigator.locks;
    if (!locks || !this.#channel) {
      this.#lead();
      return;
    }
    const waiting = new AbortController();
    this.#waitingForLock = waiting;
    locks
      .request(LOCK, { signal: waiting.signal }, () => {
        this.#lead();
        return new Promise<void>((release) => {
          this.#release = release;
        });
      })
      .catch(() => undefined)
      .finally(() => {
        if (this.#waitingForLock === waiting) this.#waitingForLock = null;
      });
    // A follower shows what the leader says; it is told at once.
    this.#say({ kind: 'want', tab: this.#tab, wanted: this.#own() });
  }

  #lead(): void {
    this.#stream = new LiveStream(
      (event) => {
        this.#deliver(event);
        this.#say({ kind: 'event', event });
      },
      (state) => this.#state(state, true),
    );
    this.#wanted = { topics: [], runs: [] };
    this.#say({ kind: 'ask' });
    this.#changed();
  }

  #resign(): void {
    this.#waitingForLock?.abort();
    this.#waitingForLock = null;
    this.#stream?.stop();
    this.#stream = null;
    this.#release?.();
    this.#release = null;
    clearTimeout(this.#pollTimer);
    this.#say({ kind: 'bye', tab: this.#tab });
    this.#state('hidden', false);
  }

  #own(): Wanted {
    return joined([...this.#listeners].map((listener) => listener.wanted));
  }

  /** Several listeners come and go in one turn of a page: one new stream for all of them. */
  #changed(): void {
    clearTimeout(this.#settle);
    this.#settle = setTimeout(() => this.#apply(), 50);
  }

  #apply(): void {
    const own = this.#own();
    this.#say({ kind: 'want', tab: this.#tab, wanted: own });
    if (!this.#stream) return;
    const all = joined([...this.#tabs.values(), own]);
    if (sameWanted(all, this.#wanted)) return;
    this.#wanted = all;
    this.#stream.want(all);
  }

  #heard(told: Told): void {
    if (told.kind === 'event') this.#deliver(told.event);
    else if (told.kind === 'state') this.#state(told.state, false);
    else if (told.kind === 'ask') this.#say({ kind: 'want', tab: this.#tab, wanted: this.#own() });
    else if (told.kind === 'again') this.#stream?.again();
    else if (told.kind === 'bye') this.#tabs.delete(told.tab);
    else this.#tabs.set(told.tab, told.wanted);
    if (!this.#stream) return;
    if (told.kind === 'want' || told.kind === 'bye') this.#changed();
    if (told.kind === 'ask') this.#say({ kind: 'state', state: useLive.getState().state });
  }

  #deliver(event: LiveEvent): void {
    for (const { wanted, on } of [...this.#listeners]) if (concerns(wanted, event)) on(event);
  }

  #state(state: LiveState, tell: boolean): void {
    useLive.setState({ state });
    if (tell) this.#say({ kind: 'state', state });
    clearTimeout(this.#pollTimer);
    if (state === 'polling' || state === 'reconnecting') this.#poll(POLL_MS);
  }

  #poll(ms: number): void {
    clearTimeout(this.#pollTimer);
    this.#pollTimer = setTimeout(() => {
      if (document.visibilityState === 'visible') this.#deliver({ type: 'reset' });
      this.#poll(Date.now() - this.#lastInput > IDLE_MS ? SLOW_POLL_MS : POLL_MS);
    }, ms);
  }

  #say(told: Told): void {
    this.#channel?.postMessage(told);
  }
}

function concerns(wanted: Wanted, event: LiveEvent): boolean {
  if (event.type === 'reset') return true;
  if (event.type === 'run') return wanted.runs.some((run) => run.id === event.id);
  return wanted.topics.includes(event.type === 'runs' ? 'executions' : event.type);
}

export const live = new Live();
