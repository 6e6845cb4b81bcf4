/** Which edges lead back, and in which layer each node is. */
import type { Graph, GraphEdge } from './model';

/** Nodes nothing leads to, the start first; then the others, so that every node is visited. */
export function rootsOf(graph: Graph): number[] {
  const indexes = graph.nodes.map((node) => node.index);
  const isStart = (index: number) => graph.nodes[index]?.type === 'start';
  const isFree = (index: number) => (graph.into[index] ?? []).length === 0;
  const class_ = (index: number) => (isStart(index) ? 0 : isFree(index) ? 1 : 2);
  return indexes.sort((a, b) => class_(a) - class_(b) || a - b);
}

/** True for each edge that closes a cycle of a depth-first walk from the roots. */
export function breakCycles(graph: Graph): boolean[] {
  const back = graph.edges.map(() => false);
  const state = new Uint8Array(graph.nodes.length);
  for (const root of rootsOf(graph)) if (state[root] === 0) walk(graph, root, state, back);
  return back;
}

const OPEN = 1;
const DONE = 2;

function walk(graph: Graph, root: number, state: Uint8Array, back: boolean[]) {
  const path = [root];
  const next = [0];
  state[root] = OPEN;
  while (path.length > 0) {
    const node = path[path.length - 1] as number;
    const place = next[next.length - 1] as number;
    const leaving = graph.out[node] as number[];
    if (place === leaving.length) {
      state[node] = DONE;
      path.pop();
      next.pop();
      continue;
    }
    next[next.length - 1] = place + 1;
    const edge = graph.edges[leaving[place] as number] as GraphEdge;
    if (state[edge.target] === OPEN) back[edge.index] = true;
    if (state[edge.target] !== 0) continue;
    state[edge.target] = OPEN;
    path.push(edge.target);
    next.push(0);
  }
}

/** Longest path from the left; what nothing leads to stands right before what it leads to. */
export function layersOf(graph: Graph, back: boolean[]): Int32Array {
  const count = graph.nodes.length;
  const layer = new Int32Array(count);
  const missing = new Int32Array(count);
  for (const edge of graph.edges) if (!back[edge.index]) missing[edge.target] = (missing[edge.target] as number) + 1;
  const ready: number[] = [];
  for (let node = 0; node < count; node++) if (missing[node] === 0) ready.push(node);
  for (let at = 0; at < ready.length; at++) {
    const node = ready[at] as number;
    for (const index of graph.out[node] as number[]) {
      const { target } = graph.edges[index] as GraphEdge;
      if (back[index]) continue;
      layer[target] = Math.max(layer[target] as number, (layer[node] as number) + 1);
      missing[target] = (missing[target] as number) - 1;
      if (missing[target] === 0) ready.push(target);
    }
  }
  pullRight(graph, back, layer);
  return layer;
}

function pullRight(graph: Graph, back: boolean[], layer: Int32Array) {
  for (const node of graph.nodes) {
    if (node.type === 'start' || (graph.into[node.index] as number[]).length > 0) continue;
    let nearest = Number.POSITIVE_INFINITY;
    for (const index of graph.out[node.index] as number[]) {
      if (!back[index]) nearest = Math.min(nearest, layer[(graph.edges[index] as GraphEdge).target] as number);
    }
    if (nearest !== Number.POSITIVE_INFINITY) layer[node.index] = nearest - 1;
  }
}
