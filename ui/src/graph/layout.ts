/**
 * Places a graph from left to right: cycles are broken (iteratively: chains of thousands of nodes must not overflow a stack), layers by
 * longest path, order within a layer by barycentre sweeps over nodes and dummies, and places by isotonic regression, so that nothing overlaps.
 * The same graph gives the same places everywhere.
 */

import { breakCycles, layersOf } from './layers';
import { exitOffset, type Graph, type GraphEdge, type GraphNode, nodeSize, type Size } from './model';
import { type Cell, orderLayers } from './order';
import { placeLayers } from './place';

export interface Point {
  x: number;
  y: number;
}

export interface Layout {
  /** The top left corner of each node. */
  positions: Point[];
  sizes: Size[];
  /** Points between the exit and the entry of each edge, empty for a direct one. */
  routes: Point[][];
  /** Edges that lead back to an earlier layer. */
  back: boolean[];
  width: number;
  height: number;
}

export const GAP_X = 64;
export const GAP_Y = 28;
export const LANE = 18;
/** More dummies than this would cost more than they show: the longest edges then go straight. So the time grows with the graph. */
const DUMMIES_PER_NODE = 3;
const FEW_DUMMIES = 2_000;

export function layoutGraph(graph: Graph): Layout {
  const sizes = graph.nodes.map(nodeSize);
  const back = breakCycles(graph);
  const layer = layersOf(graph, back);
  const { layers, chains } = cellsOf(graph, sizes, layer, back);
  orderLayers(layers);
  placeLayers(layers);
  return finish(graph, sizes, layers, chains, back);
}

interface Cells {
  layers: Cell[][];
  /** The dummies of each edge, from its left layer to its right one. */
  chains: (Cell[] | undefined)[];
}

function cellsOf(graph: Graph, sizes: Size[], layer: Int32Array, back: boolean[]): Cells {
  const count = graph.nodes.length === 0 ? 0 : largest(layer) + 1;
  const layers: Cell[][] = Array.from({ length: count }, () => []);
  const cells = graph.nodes.map((node) => {
    const place = layer[node.index] as number;
    const cell: Cell = {
      node: node.index,
      layer: place,
      height: (sizes[node.index] as Size).height,
      gap: GAP_Y,
      y: 0,
      order: 0,
      left: [],
      right: [],
    };
    (layers[place] as Cell[]).push(cell);
    return cell;
  });
  const chains = chainsOf(graph, layer, back, layers);
  for (const edge of graph.edges) link(graph, sizes, cells, edge, chains[edge.index], back[edge.index] as boolean);
  return { layers, chains };
}

/** `Math.max(...array)` overflows the stack for large arrays. */
function largest(values: Int32Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}

function chainsOf(graph: Graph, layer: Int32Array, back: boolean[], layers: Cell[][]): (Cell[] | undefined)[] {
  const chains: (Cell[] | undefined)[] = graph.edges.map(() => undefined);
  const spans = graph.edges.map((edge) => spanOf(edge, layer, back[edge.index] as boolean));
  const byLength = graph.edges.map((edge) => edge.index).sort((a, b) => length(spans[a]) - length(spans[b]) || a - b);
  const most = Math.max(FEW_DUMMIES, DUMMIES_PER_NODE * graph.nodes.length);
  let dummies = 0;
  for (const index of byLength) {
    const [from, to] = spans[index] as [number, number];
    if (to < from) continue;
    dummies += to - from + 1;
    if (dummies > most) break;
    const chain: Cell[] = [];
    for (let at = from; at <= to; at++) chain.push({ node: -1, layer: at, height: LANE, gap: 10, y: 0, order: 0, left: [], right: [] });
    chains[index] = chain;
  }
  // In the order of the edges, so that the first order of a layer is that of the definition.
  for (const chain of chains) for (const cell of chain ?? []) (layers[cell.layer] as Cell[]).push(cell);
  return chains;
}

const length = (span: [number, number] | undefined) => (span === undefined ? 0 : span[1] - span[0]);

/** The layers an edge needs a lane in: those between its ends, and for an edge back also those of its ends, which it goes around. */
function spanOf(edge: GraphEdge, layer: Int32Array, back: boolean): [number, number] {
  const source = layer[edge.source] as number;
  const target = layer[edge.target] as number;
  return back ? [target, source] : [source + 1, target - 1];
}

function link(graph: Graph, sizes: Size[], cells: Cell[], edge: GraphEdge, chain: Cell[] | undefined, back: boolean) {
  const source = cells[edge.source] as Cell;
  const target = cells[edge.target] as Cell;
  const node = graph.nodes[edge.source] as GraphNode;
  const height = (sizes[edge.source] as Size).height;
  const from = exitOffset(node.exits.length, edge.slot, height) - height / 2;
  if (chain !== undefined) for (let at = 1; at < chain.length; at++) join(chain[at - 1] as Cell, chain[at] as Cell, 0);
  if (back) {
    if (chain !== undefined) hang(chain, source, target);
    return;
  }
  if (chain === undefined || chain.length === 0) {
    if (target.layer === source.layer + 1) join(source, target, from);
    return;
  }
  join(source, chain[0] as Cell, from);
  join(chain[chain.length - 1] as Cell, target, 0);
}

/** The lane of an edge back wants to run right below the cards at its ends. */
function hang(chain: Cell[], source: Cell, target: Cell) {
  const below = (cell: Cell) => ({ cell, offset: (cell.height + LANE) / 2 + GAP_Y });
  (chain[0] as Cell).left.push(below(target));
  (chain[chain.length - 1] as Cell).right.push(below(source));
}

/** `offset`: how far below the middle of `left` the line begins. */
function join(left: Cell, right: Cell, offset: number) {
  left.right.push({ cell: right, offset: -offset });
  right.left.push({ cell: left, offset });
}

function finish(graph: Graph, sizes: Size[], layers: Cell[][], chains: (Cell[] | undefined)[], back: boolean[]): Layout {
  const { lefts, widths, total } = columns(sizes, layers);
  let top = Number.POSITIVE_INFINITY;
  let bottom = 0;
  for (const layer of layers) {
    for (const cell of layer) {
      top = Math.min(top, cell.y - cell.height / 2);
      bottom = Math.max(bottom, cell.y + cell.height / 2);
    }
  }
  if (top === Number.POSITIVE_INFINITY) top = 0;
  const positions: Point[] = graph.nodes.map(() => ({ x: 0, y: 0 }));
  for (const layer of layers) {
    for (const cell of layer) {
      if (cell.node < 0) continue;
      positions[cell.node] = { x: lefts[cell.layer] as number, y: Math.round(cell.y - cell.height / 2 - top) };
    }
  }
  const lane = (cell: Cell) => {
    const x = lefts[cell.layer] as number;
    const y = Math.round(cell.y - top);
    return [
      { x, y },
      { x: x + (widths[cell.layer] as number), y },
    ];
  };
  const routes = chains.map((chain, index) => {
    const points = (chain ?? []).flatMap(lane);
    return back[index] ? points.reverse() : points;
  });
  return { positions, sizes, routes, back, width: total, height: Math.max(0, Math.round(bottom - top)) };
}

function columns(sizes: Size[], layers: Cell[][]) {
  const lefts: number[] = [];
  const widths: number[] = [];
  let x = 0;
  for (const layer of layers) {
    let width = 0;
    for (const cell of layer) if (cell.node >= 0) width = Math.max(width, (sizes[cell.node] as Size).width);
    lefts.push(x);
    widths.push(width);
    x += width + GAP_X;
  }
  return { lefts, widths, total: Math.max(0, x - GAP_X) };
}
