/** The moment that the whole screen shows: "after step `seq`". Kept outside of React, so that scrubbing renders only what changed. */
import { createStore, type StoreApi, useStore } from 'zustand';
import type { Execution } from '../../api/model';
import { hasEnded } from '../../api/queries';
import type { EdgeLook, Looks, NodeLook } from '../../canvas/looks';
import { NO_NODE, type Scrub, type StepLine } from '../../graph/scrub';
import { formatDuration } from '../../ui/format';

export interface Moment {
  seq: number;
  /** At the end: goes along with new steps. */
  end: boolean;
  /** Steps per second while playing, 0 while not. */
  speed: number;
}

export type MomentStore = StoreApi<Moment>;

export const createMoment = (seq: number | undefined): MomentStore =>
  createStore<Moment>(() => ({ seq: seq ?? 0, end: seq === undefined, speed: 0 }));

export function useMoment<T>(moment: MomentStore, select: (state: Moment) => T): T {
  return useStore(moment, select);
}

export interface Shown {
  scrub: Scrub;
  run: Execution;
  seq: number;
  breakpoints: ReadonlySet<string>;
}

/** The node where the run stands now, if this moment is now. */
export function positionOf({ scrub, run, seq }: Shown): number {
  if (seq < scrub.last || hasEnded(run)) return NO_NODE;
  return scrub.graph.byId.get(run.current_node_id) ?? NO_NODE;
}

export function nextOf(shown: Shown): number {
  const position = positionOf(shown);
  return position >= 0 ? position : shown.scrub.nodeAfter(shown.seq);
}

/** Draws the moment: of a move from `before`, only what can have changed. */
export function paint(looks: Looks, shown: Shown, before: number | null) {
  const { scrub, seq } = shown;
  const nodes = before === null ? scrub.graph.nodes.map((node) => node.index) : [...scrub.changed(before, seq).nodes];
  const edges = before === null ? scrub.graph.edges.map((edge) => edge.index) : [...scrub.changed(before, seq).edges];
  const position = positionOf(shown);
  const next = nextOf(shown);
  const current = scrub.graph.byId.get(shown.run.current_node_id) ?? NO_NODE;
  if (before !== null && current >= 0) nodes.push(current);
  for (const node of nodes) looks.setNode(node, nodeLook(shown, node, position, next));
  for (const edge of edges) looks.setEdge(edge, edgeLook(shown, edge));
}

function edgeLook({ scrub, seq }: Shown, edge: number): EdgeLook {
  return { count: scrub.edgeAt(edge, seq), now: seq > 0 && scrub.edgeOf(seq) === edge, side: null };
}

function nodeLook(shown: Shown, node: number, position: number, next: number): NodeLook {
  const { scrub, run, seq, breakpoints } = shown;
  const { visits, step, status } = scrub.nodeAt(node, seq);
  const stands = position === node;
  const at = position >= 0 ? stands : seq > 0 && scrub.nodeOf(seq) === node;
  return {
    state: stands ? run.status : status,
    visits: visits + (stands && visits > 0 ? 1 : 0),
    detail: stands || step === 0 ? '' : formatDuration((scrub.step(step) as StepLine).duration / 1000),
    until: stands ? (run.wait?.wake_at ?? null) : null,
    ring: at ? 'at' : next === node ? 'next' : null,
    faint: visits === 0 && !stands && next !== node,
    breakpoint: breakpoints.has(scrub.graph.nodes[node]?.id ?? ''),
    side: null,
    problem: null,
    badge: stands && run.attempt > 1 ? `↻ ${run.attempt}` : '',
  };
}
