/** The canvas as a picture of its own: no style from anywhere, text as text. */
import type { Layout } from '../../../graph/layout';
import { exitOffset, type Graph } from '../../../graph/model';
import { summaryOf } from '../../../nodes';

const INK = 'currentColor';

export function svgOf(graph: Graph, layout: Layout): string {
  const parts = [
    ...graph.edges.map((_, index) => lineOf(graph, layout, index)),
    ...graph.nodes.map((_, index) => cardOf(graph, layout, index)),
  ];
  const [width, height] = [layout.width + 48, layout.height + 48];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="-24 -24 ${width} ${height}" font-family="system-ui, sans-serif" font-size="13">\n${parts.join('\n')}\n</svg>\n`;
}

function cardOf(graph: Graph, layout: Layout, index: number): string {
  const node = graph.nodes[index];
  const at = layout.positions[index];
  const size = layout.sizes[index];
  if (!node || !at || !size) return '';
  const title = `<text x="${at.x + 12}" y="${at.y + 22}" fill="${INK}" font-weight="600">${escaped(cut(node.title, 28))}</text>`;
  const summary = `<text x="${at.x + 12}" y="${at.y + 40}" fill="${INK}" opacity="0.65" font-size="12">${escaped(cut(summaryOf(node.definition), 32))}</text>`;
  return `<rect x="${at.x}" y="${at.y}" width="${size.width}" height="${size.height}" rx="8" fill="none" stroke="${INK}"/>${title}${summary}`;
}

function lineOf(graph: Graph, layout: Layout, index: number): string {
  const edge = graph.edges[index];
  const from = edge && layout.positions[edge.source];
  const to = edge && layout.positions[edge.target];
  const source = edge && graph.nodes[edge.source];
  if (!edge || !from || !to || !source) return '';
  const size = layout.sizes[edge.source] ?? { width: 0, height: 0 };
  const [x1, y1] = [from.x + size.width, from.y + exitOffset(source.exits.length, edge.slot, size.height)];
  const [x2, y2] = [to.x, to.y + (layout.sizes[edge.target]?.height ?? 0) / 2];
  const bend = Math.max(36, Math.abs(x2 - x1) / 2);
  return `<path d="M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}" fill="none" stroke="${INK}" opacity="0.5"/>`;
}

const cut = (text: string, length: number) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);
const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string) => text.replaceAll(/[&<>"']/g, (letter) => ENTITIES[letter] ?? '');
