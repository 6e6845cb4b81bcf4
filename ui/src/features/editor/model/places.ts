/** Where new nodes go, and how those that are there move. Pure. */
import { type Layout, layoutGraph } from '../../../graph/layout';
import { buildGraph, type Graph, NODE_HEIGHT, NODE_WIDTH } from '../../../graph/model';
import type { Point } from './wire';

export type Places = Record<string, Point>;

export const STEP_X = NODE_WIDTH + 72;
const STEP_Y = NODE_HEIGHT + 28;

/** Every node where it stands now: from the first move on nothing moves by itself. */
export function placesOf(graph: Graph, layout: Layout): Places {
  return Object.fromEntries(graph.nodes.map((node) => [node.id, layout.positions[node.index] ?? { x: 0, y: 0 }]));
}

/** Down from the wish to the first free place. */
export function freePlace(places: Places, wish: Point): Point {
  const spots = Object.values(places);
  const taken = (at: Point) => spots.some((spot) => Math.abs(spot.x - at.x) < NODE_WIDTH && Math.abs(spot.y - at.y) < NODE_HEIGHT + 8);
  let at = { x: Math.round(wish.x), y: Math.round(wish.y) };
  for (let tries = 0; tries < 200 && taken(at); tries++) at = { x: at.x, y: at.y + STEP_Y };
  return at;
}

/** Makes room for one more column at `x`. */
export function shifted(places: Places, from: number, only: Set<string>): Places {
  return Object.fromEntries(
    Object.entries(places).map(([id, at]) => [id, at.x >= from && only.has(id) ? { x: at.x + STEP_X, y: at.y } : at]),
  );
}

/** The chosen nodes as the layout would put them by themselves, where they are; the others stay. */
export function tidied(places: Places, graph: Graph, ids: readonly string[]): Places {
  const chosen = new Set(ids);
  const nodes = graph.nodes.filter((node) => chosen.has(node.id));
  const exits = new Map(nodes.map((node) => [node.id, node.exits]));
  const edges = graph.edges.flatMap(({ source, target, exit }) => {
    const [from, to] = [graph.nodes[source]?.id ?? '', graph.nodes[target]?.id ?? ''];
    return chosen.has(from) && chosen.has(to) ? [{ source: from, target: to, sourceHandle: exit }] : [];
  });
  const part = buildGraph({ nodes: nodes.map((node) => node.definition), edges }, (node) => exits.get(node.id) ?? []);
  const made = placesOf(part, layoutGraph(part));
  const corner = (of: Places, axis: 'x' | 'y') => Math.min(...nodes.flatMap((node) => of[node.id]?.[axis] ?? []));
  const by = { x: corner(places, 'x') - corner(made, 'x'), y: corner(places, 'y') - corner(made, 'y') };
  return { ...places, ...moved(made, Object.keys(made), by) };
}

export type Alignment = 'left' | 'top' | 'columns' | 'rows';

/** On one line, or with the same gaps. */
export function aligned(places: Places, ids: string[], how: Alignment): Places {
  const chosen = ids.flatMap((id) => (places[id] ? [{ id, at: places[id] }] : []));
  if (chosen.length < 2) return places;
  const made = { ...places };
  if (how === 'left' || how === 'top') {
    const axis = how === 'left' ? 'x' : 'y';
    const least = Math.min(...chosen.map((one) => one.at[axis]));
    for (const one of chosen) made[one.id] = { ...one.at, [axis]: least };
    return made;
  }
  const axis = how === 'columns' ? 'x' : 'y';
  const sorted = [...chosen].sort((a, b) => a.at[axis] - b.at[axis]);
  const first = sorted[0]?.at[axis] ?? 0;
  const gap = ((sorted.at(-1)?.at[axis] ?? 0) - first) / (sorted.length - 1);
  sorted.forEach((one, index) => {
    made[one.id] = { ...one.at, [axis]: Math.round(first + gap * index) };
  });
  return made;
}

export function moved(places: Places, ids: string[], by: Point): Places {
  const made = { ...places };
  for (const id of ids) if (made[id]) made[id] = { x: made[id].x + by.x, y: made[id].y + by.y };
  return made;
}

/** All that can be reached from a node, or that leads to it. */
export function reachable(graph: Graph, id: string, direction: 'up' | 'down'): Set<string> {
  const start = graph.byId.get(id);
  const seen = new Set<number>(start === undefined ? [] : [start]);
  const waiting = [...seen];
  while (waiting.length > 0) {
    const at = waiting.pop() as number;
    for (const index of (direction === 'down' ? graph.out : graph.into)[at] ?? []) {
      const edge = graph.edges[index];
      const next = direction === 'down' ? edge?.target : edge?.source;
      if (next === undefined || seen.has(next)) continue;
      seen.add(next);
      waiting.push(next);
    }
  }
  return new Set([...seen].flatMap((index) => graph.nodes[index]?.id ?? []));
}
