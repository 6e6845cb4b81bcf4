/**
 * The history of a run as an index: what every node and every edge looked like after any step, without folding the steps again.
 * It grows by appending, so a live run costs what its new steps cost.
 */
import { edgeTaken, type Graph } from './model';

/** The columns of an outline (`GET …/outline`). */
export interface Columns {
  seq: number;
  base_seq: number;
  from: number;
  nodes: { id: string; type: string }[];
  handles: string[];
  origin: string | null;
  node: number[];
  status: number[];
  statuses: string[];
  handle: (number | null)[];
  start: number[];
  duration: number[];
  tries: number[];
}

export type StepStatus = 'success' | 'failed' | 'skipped';

/** The number of a step that set variables by hand (`$edit`), which has no node. */
export const NO_NODE = -1;
export const EDIT = '$edit';

export interface StepLine {
  seq: number;
  nodeId: string;
  nodeType: string;
  /** In the graph; -1 for `$edit` and for nodes that it does not have. */
  node: number;
  status: StepStatus;
  exit: string | null;
  /** Microseconds since the epoch. */
  start: number;
  duration: number;
  tries: number;
  inherited: boolean;
}

export interface NodeMoment {
  visits: number;
  /** The step of the last visit; 0: it was not visited. */
  step: number;
  status: StepStatus | null;
}

export class Scrub {
  readonly graph: Graph;
  /** Step `first + i` is entry `i`; what was before is not kept any more. */
  first = 1;
  base = 0;
  steps: StepLine[] = [];
  private visits: number[][];
  private walks: number[][];
  /** The edge walked after each step, -1 for none. */
  private edges: number[] = [];
  private failures: number[] = [];
  /** The last step whose edge is known only when the next one comes: it names no exit. */
  private open = -1;

  constructor(graph: Graph) {
    this.graph = graph;
    this.visits = graph.nodes.map(() => []);
    this.walks = graph.edges.map(() => []);
  }

  get last(): number {
    return this.first + this.steps.length - 1;
  }

  /** Adds what comes after the last step; what is already there is left out, and a gap is refused. */
  append(columns: Columns): boolean {
    this.base = columns.base_seq;
    if (this.steps.length === 0) this.first = columns.from;
    if (columns.from > this.last + 1) return false;
    const origin = columns.origin === null ? 0 : microsOf(columns.origin);
    for (let at = Math.max(0, this.last + 1 - columns.from); at < columns.node.length; at++)
      this.push(lineOf(columns, at, origin, this.graph));
    return true;
  }

  /** Adds one step as a live event tells it. */
  push(line: StepLine): boolean {
    if (line.seq <= this.last) return true;
    if (this.steps.length === 0) this.first = line.seq;
    if (line.seq !== this.last + 1) return false;
    const at = this.steps.length;
    this.steps.push(line);
    this.edges.push(-1);
    if (line.status === 'failed') this.failures.push(line.seq);
    if (line.node === NO_NODE) return true;
    (this.visits[line.node] as number[]).push(line.seq);
    if (this.open >= 0) this.walk(this.open, line.node);
    this.open = line.exit === null ? at : -1;
    if (line.exit !== null) this.walk(at, NO_NODE);
    return true;
  }

  private walk(at: number, target: number) {
    const step = this.steps[at] as StepLine;
    const edge = edgeTaken(this.graph, step.node, step.exit, target);
    if (edge < 0) return;
    this.edges[at] = edge;
    (this.walks[edge] as number[]).push(step.seq);
  }

  step(seq: number): StepLine | undefined {
    return this.steps[seq - this.first];
  }

  nodeAt(node: number, seq: number): NodeMoment {
    const visits = this.visits[node] ?? [];
    const count = upTo(visits, seq);
    if (count === 0) return { visits: 0, step: 0, status: null };
    const step = visits[count - 1] as number;
    return { visits: count, step, status: (this.step(step) as StepLine).status };
  }

  /** How often an edge was walked by the time step `seq` was over: the step's own way out counts. */
  edgeAt(edge: number, seq: number): number {
    return upTo(this.walks[edge] ?? [], seq);
  }

  /** The edge by which step `seq` left its node (of `$edit`: the step before it), -1 for none or not known. */
  edgeOf(seq: number): number {
    let at = Math.min(seq, this.last) - this.first;
    while (at >= 0 && (this.steps[at] as StepLine).node === NO_NODE) at--;
    return this.edges[at] ?? -1;
  }

  /** The node of step `seq`, or of the last one before it that has a node; -1 for none. */
  nodeOf(seq: number): number {
    let at = Math.min(seq, this.last) - this.first;
    while (at >= 0 && (this.steps[at] as StepLine).node === NO_NODE) at--;
    return this.steps[at]?.node ?? NO_NODE;
  }

  /** The node of the next step after `seq` that has one; -1 at the end. */
  nodeAfter(seq: number): number {
    for (let at = seq + 1 - this.first; at >= 0 && at < this.steps.length; at++) {
      const { node } = this.steps[at] as StepLine;
      if (node !== NO_NODE) return node;
    }
    return NO_NODE;
  }

  visitsOf(node: number): readonly number[] {
    return this.visits[node] ?? [];
  }

  /** The visit before or after `seq`; 0 if there is none. */
  visitBeside(node: number, seq: number, forward: boolean): number {
    return beside(this.visits[node] ?? [], seq, forward);
  }

  failureBeside(seq: number, forward: boolean): number {
    return beside(this.failures, seq, forward);
  }

  get failed(): readonly number[] {
    return this.failures;
  }

  /** Nodes and edges that may look different after `to` than after `from`. */
  changed(from: number, to: number): { nodes: Set<number>; edges: Set<number> } {
    const nodes = new Set<number>();
    const edges = new Set<number>();
    for (const seq of [from, to]) {
      for (const node of [this.nodeOf(seq), this.nodeAfter(seq)]) if (node >= 0) nodes.add(node);
      const edge = this.edgeOf(seq);
      if (edge >= 0) edges.add(edge);
    }
    const low = Math.max(0, Math.min(from, to) - this.first);
    const high = Math.min(this.steps.length - 1, Math.max(from, to) - this.first);
    for (let at = low; at <= high; at++) {
      const { node } = this.steps[at] as StepLine;
      if (node >= 0) nodes.add(node);
      const edge = this.edges[at] as number;
      if (edge >= 0) edges.add(edge);
    }
    return { nodes, edges };
  }
}

function lineOf(columns: Columns, at: number, origin: number, graph: Graph): StepLine {
  const { id, type } = columns.nodes[columns.node[at] as number] as { id: string; type: string };
  const handle = columns.handle[at] ?? null;
  const seq = columns.from + at;
  return {
    seq,
    nodeId: id,
    nodeType: type,
    node: graph.byId.get(id) ?? NO_NODE,
    status: columns.statuses[columns.status[at] as number] as StepStatus,
    exit: handle === null ? null : (columns.handles[handle] ?? null),
    start: origin + (columns.start[at] as number),
    duration: columns.duration[at] as number,
    tries: columns.tries[at] as number,
    inherited: seq <= columns.base_seq,
  };
}

/** Microseconds since the epoch of an RFC 3339 time. Exact until the year 2255. */
export function microsOf(time: string): number {
  const [, whole, fraction = '', zone] = /^(.*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  if (whole === undefined) return Number.NaN;
  return Date.parse(`${whole}${zone}`) * 1000 + Number(fraction.padEnd(6, '0').slice(0, 6));
}

/** How many of the rising numbers are at most `seq`. */
function upTo(rising: readonly number[], seq: number): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rising[middle] as number) <= seq) low = middle + 1;
    else high = middle;
  }
  return low;
}

function beside(rising: readonly number[], seq: number, forward: boolean): number {
  const place = forward ? upTo(rising, seq) : upTo(rising, seq - 1) - 1;
  return rising[place] ?? 0;
}
