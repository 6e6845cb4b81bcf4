/** A graph as a picture: for the map and the minimap. */
import type { Layout, Point } from '../graph/layout';
import type { Graph } from '../graph/model';
import { toneOf } from '../ui/Status';
import type { Looks, NodeLook } from './looks';
import type { ColorName, Palette } from './palette';

export interface Frame {
  x: number;
  y: number;
  zoom: number;
  width: number;
  height: number;
}

export function drawGraph(context: CanvasRenderingContext2D, graph: Graph, layout: Layout, looks: Looks, colors: Palette, frame: Frame) {
  drawEdges(context, graph, layout, looks, colors, frame);
  for (const node of graph.nodes) {
    const at = layout.positions[node.index];
    const size = layout.sizes[node.index];
    if (at === undefined || size === undefined) continue;
    const box = {
      x: at.x * frame.zoom + frame.x,
      y: at.y * frame.zoom + frame.y,
      width: Math.max(1.5, size.width * frame.zoom),
      height: Math.max(1.5, size.height * frame.zoom),
    };
    if (box.x > frame.width || box.y > frame.height || box.x + box.width < 0 || box.y + box.height < 0) continue;
    drawNode(context, looks.node(node.index), looks.selected === node.index, box, colors);
  }
}

interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

function drawNode(context: CanvasRenderingContext2D, look: NodeLook, chosen: boolean, box: Box, colors: Palette) {
  const color = colorOf(look, colors);
  context.globalAlpha = look.faint ? 0.35 : 1;
  context.fillStyle = color;
  context.fillRect(box.x, box.y, box.width, box.height);
  context.globalAlpha = 1;
  if (look.state === 'failed' && box.width > 4) {
    context.strokeStyle = colors.sheet;
    context.lineWidth = 1;
    context.beginPath();
    context.moveTo(box.x, box.y + box.height);
    context.lineTo(box.x + box.width, box.y);
    context.stroke();
  }
  if (!chosen && look.ring !== 'at') return;
  context.strokeStyle = chosen ? colors.ink : colors.accent;
  context.lineWidth = 2;
  context.strokeRect(box.x - 2, box.y - 2, box.width + 4, box.height + 4);
}

const SIDES: Record<string, ColorName> = { left: 'info', right: 'warn', both: 'soft' };

function colorOf(look: NodeLook, colors: Palette): string {
  if (look.problem === 'error') return colors.bad;
  if (look.side !== null) return colors[SIDES[look.side] ?? 'soft'];
  return look.state === null ? colors.edge : colors[toneOf(look.state) as ColorName];
}

/** Few strokes for many lines: those walked together, the others together. */
function drawEdges(context: CanvasRenderingContext2D, graph: Graph, layout: Layout, looks: Looks, colors: Palette, frame: Frame) {
  for (const walked of [false, true]) {
    context.beginPath();
    for (const edge of graph.edges) {
      if (looks.edge(edge.index).count > 0 !== walked) continue;
      const points = pointsOf(layout, edge.source, edge.target, layout.routes[edge.index] ?? []);
      points.forEach((point, at) => {
        const [x, y] = [point.x * frame.zoom + frame.x, point.y * frame.zoom + frame.y];
        if (at === 0) context.moveTo(x, y);
        else context.lineTo(x, y);
      });
    }
    context.strokeStyle = walked ? colors.accent : colors.line;
    context.lineWidth = walked ? 1.5 : 1;
    context.stroke();
  }
}

function pointsOf(layout: Layout, source: number, target: number, route: Point[]): Point[] {
  const a = layout.positions[source] ?? { x: 0, y: 0 };
  const b = layout.positions[target] ?? { x: 0, y: 0 };
  const from = layout.sizes[source] ?? { width: 0, height: 0 };
  const height = layout.sizes[target]?.height ?? 0;
  return [{ x: a.x + from.width, y: a.y + from.height / 2 }, ...route, { x: b.x, y: b.y + height / 2 }];
}
