/** How far down each cell of an ordered layer goes: as near to its neighbours as the others of its layer allow. */
import type { Cell, Link } from './order';

const ROUNDS = 6;

export function placeLayers(layers: Cell[][]) {
  for (const layer of layers) stack(layer);
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 1; at < layers.length; at++) settle(layers[at] as Cell[], left);
    for (let at = layers.length - 2; at >= 0; at--) settle(layers[at] as Cell[], both);
  }
  for (let at = 1; at < layers.length; at++) settle(layers[at] as Cell[], left);
}

const left = (cell: Cell) => cell.left;
const both = (cell: Cell) => (cell.left.length === 0 ? cell.right : cell.right.length === 0 ? cell.left : [...cell.left, ...cell.right]);

function stack(layer: Cell[]) {
  let y = 0;
  for (const cell of layer) {
    cell.y = y + cell.height / 2;
    y += cell.height + cell.gap;
  }
}

/** What two neighbours of a layer need between their middles. */
const distance = (above: Cell, below: Cell) => (above.height + below.height) / 2 + Math.max(above.gap, below.gap);

interface Block {
  sum: number;
  weight: number;
  cells: number;
}

/** Isotonic regression: wanted places minus the room needed above, made to rise, is the nearest arrangement without overlaps. */
function settle(layer: Cell[], neighbours: (cell: Cell) => Link[]) {
  const room: number[] = [];
  const blocks: Block[] = [];
  let above = 0;
  for (let at = 0; at < layer.length; at++) {
    const cell = layer[at] as Cell;
    if (at > 0) above += distance(layer[at - 1] as Cell, cell);
    room.push(above);
    const links = neighbours(cell);
    const weight = links.length === 0 ? 0.01 : cell.node < 0 ? 0.5 : 1;
    blocks.push({ sum: (wanted(cell, links) - above) * weight, weight, cells: 1 });
    merge(blocks);
  }
  let at = 0;
  for (const block of blocks) {
    const base = block.sum / block.weight;
    for (let count = 0; count < block.cells; count++, at++) (layer[at] as Cell).y = base + (room[at] as number);
  }
}

function merge(blocks: Block[]) {
  while (blocks.length > 1) {
    const last = blocks[blocks.length - 1] as Block;
    const before = blocks[blocks.length - 2] as Block;
    if (before.sum / before.weight <= last.sum / last.weight) return;
    blocks.pop();
    before.sum += last.sum;
    before.weight += last.weight;
    before.cells += last.cells;
  }
}

function wanted(cell: Cell, links: Link[]): number {
  if (links.length === 0) return cell.y;
  let sum = 0;
  for (const link of links) sum += link.cell.y + link.offset;
  return sum / links.length;
}
