/**
 * The events of one run, put in order. Steps can come twice (resume), with a gap (something was lost) or late (two streams in a row).
 * What is in order is given out at once; what is ahead waits; a gap that does not close says "read the outline again after `seq`".
 */
import type { RunEvent } from './live-types';
import type { Execution, Step } from './model';

export interface Fed {
  /** New steps in order, none twice. */
  steps: Step[];
  /** The newest state of the run, if the event brought one that is newer. */
  execution: Execution | null;
  /** Steps are missing before the ones that came: read after `seq`. */
  gap: boolean;
  gone: boolean;
}

const AHEAD_LIMIT = 1000;

export class RunFeed {
  #ahead = new Map<number, Step>();
  #version: number;

  /** `seq` is the last step known, `version` the `event_version` of the execution that was read. */
  constructor(
    private seq: number,
    version: number,
  ) {
    this.#version = version;
  }

  get lastSeq(): number {
    return this.seq;
  }
  get version(): number {
    return this.#version;
  }

  /** Steps were read with a call of their own: up to here nothing is missing. */
  caughtUp(seq: number): Step[] {
    this.seq = Math.max(this.seq, seq);
    for (const known of this.#ahead.keys()) if (known <= this.seq) this.#ahead.delete(known);
    return this.#inOrder();
  }

  push(event: RunEvent): Fed {
    if (event.kind === 'gone') return { steps: [], execution: null, gap: false, gone: true };
    if (event.kind === 'step') return this.#step(event.step, event.version);
    const newer = event.version >= this.#version;
    this.#version = Math.max(this.#version, event.version);
    const behind = newer && event.execution.seq > this.seq;
    return { steps: [], execution: newer ? event.execution : null, gap: behind, gone: false };
  }

  #step(step: Step, version: number): Fed {
    this.#version = Math.max(this.#version, version);
    if (step.seq > this.seq && this.#ahead.size < AHEAD_LIMIT) this.#ahead.set(step.seq, step);
    const steps = this.#inOrder();
    return { steps, execution: null, gap: this.#ahead.size > 0 || step.seq > this.seq, gone: false };
  }

  #inOrder(): Step[] {
    const steps: Step[] = [];
    for (let next = this.#ahead.get(this.seq + 1); next; next = this.#ahead.get(this.seq + 1)) {
      this.#ahead.delete(next.seq);
      this.seq = next.seq;
      steps.push(next);
    }
    return steps;
  }
}
