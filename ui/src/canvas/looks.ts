/** How every node and edge looks at this moment. Each card listens for its own, so a step of a run renders one card and not the graph. */
import { useCallback, useSyncExternalStore } from 'react';
import type { Status, StepStatus } from '../api/model';

export interface NodeLook {
  state: StepStatus | Status | null;
  visits: number;
  /** On the right of the second line: a duration, "try 3". */
  detail: string;
  /** Counted down on the card instead of `detail`. */
  until: string | null;
  /** `at`: the moment stands here; `next`: this node comes next. */
  ring: 'at' | 'next' | 'first' | null;
  faint: boolean;
  breakpoint: boolean;
  /** Of two runs: which came here. */
  side: 'left' | 'right' | 'both' | null;
  problem: 'error' | 'warning' | null;
  badge: string;
  /** Only an editor says these. */
  pinned?: boolean;
  entry?: boolean;
}

export interface EdgeLook {
  count: number;
  /** The way of this very moment. */
  now: boolean;
  side: 'left' | 'right' | 'both' | null;
}

export const PLAIN_NODE: NodeLook = {
  state: null,
  visits: 0,
  detail: '',
  until: null,
  ring: null,
  faint: false,
  breakpoint: false,
  side: null,
  problem: null,
  badge: '',
  pinned: false,
  entry: false,
};
export const PLAIN_EDGE: EdgeLook = { count: 0, now: false, side: null };

type Listener = () => void;

export class Looks {
  readonly #nodes = new Map<number, NodeLook>();
  readonly #edges = new Map<number, EdgeLook>();
  readonly #nodeListeners = new Map<number, Set<Listener>>();
  readonly #edgeListeners = new Map<number, Set<Listener>>();
  readonly #any = new Set<Listener>();
  #selected = -1;
  /** Where breakpoints can be set: a click in the gutter of a card. */
  onGutter: ((id: string) => void) | null = null;

  node(index: number): NodeLook {
    return this.#nodes.get(index) ?? PLAIN_NODE;
  }

  edge(index: number): EdgeLook {
    return this.#edges.get(index) ?? PLAIN_EDGE;
  }

  get selected(): number {
    return this.#selected;
  }

  setNode(index: number, look: NodeLook): void {
    if (same(this.node(index), look)) return;
    this.#nodes.set(index, look);
    this.#tell(this.#nodeListeners, index);
  }

  setEdge(index: number, look: EdgeLook): void {
    if (same(this.edge(index), look)) return;
    this.#edges.set(index, look);
    this.#tell(this.#edgeListeners, index);
  }

  select(index: number): void {
    if (index === this.#selected) return;
    const before = this.#selected;
    this.#selected = index;
    this.#tell(this.#nodeListeners, before);
    this.#tell(this.#nodeListeners, index);
  }

  onNode(index: number, listener: Listener): () => void {
    return listen(this.#nodeListeners, index, listener);
  }

  onEdge(index: number, listener: Listener): () => void {
    return listen(this.#edgeListeners, index, listener);
  }

  /** For pictures of the whole: called for every change; draw at the next frame. */
  onAny(listener: Listener): () => void {
    this.#any.add(listener);
    return () => this.#any.delete(listener);
  }

  #tell(listeners: Map<number, Set<Listener>>, index: number): void {
    for (const listener of listeners.get(index) ?? []) listener();
    for (const listener of this.#any) listener();
  }
}

function listen(all: Map<number, Set<Listener>>, index: number, listener: Listener): () => void {
  const listeners = all.get(index) ?? new Set();
  all.set(index, listeners);
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function same<T extends object>(a: T, b: T): boolean {
  for (const key in a) if (a[key] !== b[key]) return false;
  return true;
}

export function useNodeLook(looks: Looks, index: number): NodeLook {
  const subscribe = useCallback((changed: Listener) => looks.onNode(index, changed), [looks, index]);
  return useSyncExternalStore(subscribe, () => looks.node(index));
}

export function useIsSelected(looks: Looks, index: number): boolean {
  const subscribe = useCallback((changed: Listener) => looks.onNode(index, changed), [looks, index]);
  return useSyncExternalStore(subscribe, () => looks.selected === index);
}

export function useEdgeLook(looks: Looks, index: number): EdgeLook {
  const subscribe = useCallback((changed: Listener) => looks.onEdge(index, changed), [looks, index]);
  return useSyncExternalStore(subscribe, () => looks.edge(index));
}
