/** Two versions on one picture: the left one, and what only the right one has. */
import type { Definition } from '../../api/model';
import type { Positions } from '../../canvas/useLayout';
import type { Graph } from '../../graph/model';

export function unionOf(left: Definition, right: Definition): Definition {
  const nodes = new Set(left.nodes.map((node) => node.id));
  const keyOf = (edge: { source: string; target: string; sourceHandle?: string }) =>
    `${edge.source}\n${edge.sourceHandle ?? ''}\n${edge.target}`;
  const edges = new Set((left.edges ?? []).map(keyOf));
  return {
    ...left,
    nodes: [...left.nodes, ...right.nodes.filter((node) => !nodes.has(node.id))],
    edges: [...(left.edges ?? []), ...(right.edges ?? []).filter((edge) => !edges.has(keyOf(edge)))],
  };
}

const WIDE = 260;
const HIGH = 110;

/** Where people put the nodes; the others in a row below, each after the one that leads to it. Without any: null, the layout's own places. */
export function placesOf(graph: Graph, saved: Positions | undefined): Positions | null {
  const known = graph.nodes.filter((node) => saved !== undefined && Object.hasOwn(saved, node.id));
  if (saved === undefined || known.length === 0) return null;
  const places: { [id: string]: { x: number; y: number } } = {};
  for (const { id } of known) places[id] = saved[id] as { x: number; y: number };
  const y = Math.max(...Object.values(places).map((place) => place.y)) + HIGH;
  const taken = new Set<number>();
  for (const node of graph.nodes) {
    if (Object.hasOwn(places, node.id)) continue;
    const before = (graph.into[node.index] ?? [])
      .map((edge) => graph.nodes[graph.edges[edge]?.source ?? -1]?.id ?? '')
      .find((id) => Object.hasOwn(places, id));
    let x = before === undefined ? 0 : (places[before]?.x ?? 0) + WIDE;
    while ([...taken].some((other) => Math.abs(other - x) < WIDE)) x += WIDE;
    taken.add(x);
    places[node.id] = { x, y };
  }
  return places;
}
