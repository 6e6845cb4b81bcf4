/** A graph as a tree list: the way through it for screen readers and small screens, and the order in which the keyboard walks it. */
import { rootsOf } from './layers';
import type { Graph, GraphEdge } from './model';

export interface OutlineLine {
  node: number;
  depth: number;
  /** The edge by which the walk came here; -1 at a beginning. */
  edge: number;
  /** `again`: the node has its own line elsewhere; `loop`: it is also above, on the way to here. */
  kind: 'node' | 'again' | 'loop';
}

interface Step {
  node: number;
  depth: number;
  edge: number;
  leave: boolean;
}

/** A straight run of nodes stays at one depth; only branches indent. */
export function outlineOf(graph: Graph): OutlineLine[] {
  const lines: OutlineLine[] = [];
  const seen = new Uint8Array(graph.nodes.length);
  const above = new Uint8Array(graph.nodes.length);
  for (const root of rootsOf(graph)) {
    if (seen[root] === 1) continue;
    const todo: Step[] = [{ node: root, depth: 0, edge: -1, leave: false }];
    while (todo.length > 0) visit(graph, todo, lines, seen, above);
  }
  return lines;
}

function visit(graph: Graph, todo: Step[], lines: OutlineLine[], seen: Uint8Array, above: Uint8Array) {
  const { node, depth, edge, leave } = todo.pop() as Step;
  if (leave) {
    above[node] = 0;
    return;
  }
  if (seen[node] === 1) {
    lines.push({ node, depth, edge, kind: above[node] === 1 ? 'loop' : 'again' });
    return;
  }
  seen[node] = 1;
  above[node] = 1;
  lines.push({ node, depth, edge, kind: 'node' });
  todo.push({ node, depth, edge, leave: true });
  const leaving = graph.out[node] as number[];
  const deeper = leaving.length > 1 ? depth + 1 : depth;
  for (let at = leaving.length - 1; at >= 0; at--) {
    const next = graph.edges[leaving[at] as number] as GraphEdge;
    todo.push({ node: next.target, depth: deeper, edge: next.index, leave: false });
  }
}

export type Direction = 'next' | 'previous' | 'up' | 'down';

/** Where an arrow key leads from a node: along an edge, or to the neighbour among those that share it. */
export function neighbour(graph: Graph, node: number, direction: Direction): number {
  if (direction === 'next') return targetOf(graph, (graph.out[node] ?? [])[0], node);
  if (direction === 'previous') return sourceOf(graph, (graph.into[node] ?? [])[0], node);
  const siblings = siblingsOf(graph, node);
  const place = siblings.indexOf(node);
  return siblings[place + (direction === 'down' ? 1 : -1)] ?? node;
}

const targetOf = (graph: Graph, edge: number | undefined, otherwise: number) =>
  edge === undefined ? otherwise : (graph.edges[edge] as GraphEdge).target;
const sourceOf = (graph: Graph, edge: number | undefined, otherwise: number) =>
  edge === undefined ? otherwise : (graph.edges[edge] as GraphEdge).source;

function siblingsOf(graph: Graph, node: number): number[] {
  const found: number[] = [];
  for (const into of graph.into[node] ?? []) {
    const { source } = graph.edges[into] as GraphEdge;
    for (const leaving of graph.out[source] ?? []) {
      const { target } = graph.edges[leaving] as GraphEdge;
      if (!found.includes(target)) found.push(target);
    }
  }
  return found.length === 0 ? [node] : found;
}
