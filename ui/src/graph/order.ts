/** The order of the cells within each layer: few crossings. */

/** A neighbour in the next layer, and how far from its middle the line meets it. */
export interface Link {
  cell: Cell;
  offset: number;
}

/** A node, or the lane of an edge that passes its layer (`node` -1). */
export interface Cell {
  node: number;
  layer: number;
  height: number;
  /** Free space it wants below. */
  gap: number;
  /** Of its middle. */
  y: number;
  order: number;
  left: Link[];
  right: Link[];
}

const SWEEPS = 12;
/** Sweeps that may bring nothing before the rest is left out. */
const PATIENCE = 4;

export function orderLayers(layers: Cell[][]) {
  for (const layer of layers) number(layer);
  let best = crossings(layers);
  let kept = layers.map((layer) => layer.slice());
  let idle = 0;
  for (let sweep = 0; sweep < SWEEPS && best > 0 && idle < PATIENCE; sweep++, idle++) {
    if (sweep % 2 === 0) for (let at = 1; at < layers.length; at++) sort(layers[at] as Cell[], 'left');
    else for (let at = layers.length - 2; at >= 0; at--) sort(layers[at] as Cell[], 'right');
    const now = crossings(layers);
    if (now >= best) continue;
    best = now;
    idle = 0;
    kept = layers.map((layer) => layer.slice());
  }
  for (let at = 0; at < layers.length; at++) {
    layers[at] = kept[at] as Cell[];
    number(layers[at] as Cell[]);
  }
}

function number(layer: Cell[]) {
  for (let at = 0; at < layer.length; at++) (layer[at] as Cell).order = at;
}

function sort(layer: Cell[], side: 'left' | 'right') {
  const want = new Map<Cell, number>();
  for (const cell of layer) want.set(cell, barycentre(cell, side));
  layer.sort((a, b) => (want.get(a) as number) - (want.get(b) as number) || a.order - b.order);
  number(layer);
}

/** The mean place of the neighbours; a cell without any keeps its own. An exit lower on the card counts as a little lower. */
function barycentre(cell: Cell, side: 'left' | 'right'): number {
  const links = cell[side];
  if (links.length === 0) return cell.order;
  let sum = 0;
  for (const link of links) sum += link.cell.order + link.offset / 200;
  return sum / links.length;
}

function crossings(layers: Cell[][]): number {
  let sum = 0;
  for (let at = 0; at + 1 < layers.length; at++) sum += crossingsOf(layers[at] as Cell[], (layers[at + 1] as Cell[]).length);
  return sum;
}

/** Pairs of lines in the wrong order, counted with a tree of sums. */
function crossingsOf(layer: Cell[], right: number): number {
  const tree = new Int32Array(right + 1);
  let seen = 0;
  let sum = 0;
  for (const cell of layer) {
    const links = cell.right.filter((link) => link.cell.layer === cell.layer + 1);
    // From the highest exit to the lowest: lines of one card cross too.
    if (links.length > 1) links.sort((a, b) => b.offset - a.offset);
    for (const link of links) {
      const place = link.cell.order;
      for (let at = place + 1; at > 0; at -= at & -at) sum -= tree[at] as number;
      sum += seen;
      for (let at = place + 1; at <= right; at += at & -at) tree[at] = (tree[at] as number) + 1;
      seen++;
    }
  }
  return sum;
}
