/** A graph as the arrays that xyflow draws: sizes and exits are given, so nothing is measured. */
import { type Edge, type Node, Position } from '@xyflow/react';
import type { Layout, Point } from '../graph/layout';
import { ERROR, exitOffset, type Graph, type GraphEdge, type GraphNode } from '../graph/model';
import type { Looks } from './looks';

export interface CardData extends Record<string, unknown> {
  node: GraphNode;
  looks: Looks;
  editable: boolean;
  /** Exits that lead nowhere: a run that leaves by one ends there. A failure has ways of its own. */
  ends: readonly string[];
}
export interface LineData extends Record<string, unknown> {
  edge: GraphEdge;
  looks: Looks;
  back: boolean;
  route: Point[];
  /** Where the ends were when the route was made: moved cards get a new line. */
  from: Point;
  to: Point;
  label: string;
}
export type CardNode = Node<CardData, 'card'>;
export type LineEdge = Edge<LineData, 'line'>;

export const ENTRY = 'in';

export function flowNodes(graph: Graph, layout: Layout, looks: Looks, editable: boolean): CardNode[] {
  return graph.nodes.map((node) => {
    const { width, height } = layout.sizes[node.index] ?? { width: 0, height: 0 };
    return {
      id: node.id,
      type: 'card',
      position: layout.positions[node.index] ?? { x: 0, y: 0 },
      width,
      height,
      measured: { width, height },
      handles: handlesOf(node, width, height),
      data: { node, looks, editable, ends: editable ? endsAt(graph, node) : NONE },
      draggable: editable,
      selectable: editable,
      connectable: editable,
      focusable: false,
    };
  });
}

const NONE: readonly string[] = [];

function endsAt(graph: Graph, node: GraphNode): readonly string[] {
  const used = new Set((graph.out[node.index] ?? []).map((edge) => graph.edges[edge]?.exit));
  return node.exits.filter((exit) => exit !== ERROR && !used.has(exit));
}

function handlesOf(node: GraphNode, width: number, height: number): NonNullable<CardNode['handles']> {
  const entry = { id: ENTRY, type: 'target' as const, position: Position.Left, x: 0, y: height / 2, width: 1, height: 1 };
  const exits = node.exits.map((exit, slot) => ({
    id: exit,
    type: 'source' as const,
    position: Position.Right,
    x: width - 1,
    y: exitOffset(node.exits.length, slot, height),
    width: 1,
    height: 1,
  }));
  return [entry, ...exits];
}

export function flowEdges(graph: Graph, layout: Layout, looks: Looks, editable: boolean): LineEdge[] {
  return graph.edges.map((edge) => {
    const source = graph.nodes[edge.source] as GraphNode;
    const target = graph.nodes[edge.target] as GraphNode;
    const { from, to } = endsOf(edge, source, layout);
    return {
      id: `e${edge.index}`,
      type: 'line',
      source: source.id,
      target: target.id,
      sourceHandle: edge.exit,
      targetHandle: ENTRY,
      selectable: editable,
      focusable: false,
      data: {
        edge,
        looks,
        back: layout.back[edge.index] === true,
        route: layout.routes[edge.index] ?? [],
        from,
        to,
        label: source.exits.length > 1 || edge.exit !== 'success' ? edge.exit : '',
      },
    };
  });
}

export function endsOf(edge: GraphEdge, source: GraphNode, layout: Layout): { from: Point; to: Point } {
  const a = layout.positions[edge.source] ?? { x: 0, y: 0 };
  const b = layout.positions[edge.target] ?? { x: 0, y: 0 };
  const size = layout.sizes[edge.source] ?? { width: 0, height: 0 };
  const height = layout.sizes[edge.target]?.height ?? 0;
  return {
    from: { x: a.x + size.width, y: a.y + exitOffset(source.exits.length, edge.slot, size.height) },
    to: { x: b.x, y: b.y + height / 2 },
  };
}

export interface Bounds {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** All of a layout, with the lanes of its lines. */
export function boundsOf(layout: Layout): Bounds {
  let [left, top, right, bottom] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const take = (x: number, y: number) => {
    left = Math.min(left, x);
    top = Math.min(top, y);
    right = Math.max(right, x);
    bottom = Math.max(bottom, y);
  };
  layout.positions.forEach(({ x, y }, index) => {
    take(x, y);
    take(x + (layout.sizes[index]?.width ?? 0), y + (layout.sizes[index]?.height ?? 0));
  });
  for (const route of layout.routes) for (const { x, y } of route) take(x, y);
  if (left === Number.POSITIVE_INFINITY) return { x: 0, y: 0, width: 1, height: 1 };
  return { x: left, y: top, width: Math.max(1, right - left), height: Math.max(1, bottom - top) };
}
