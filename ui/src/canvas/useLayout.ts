/** Places of a graph: at once for a small one, from the worker for a large one, kept by definition. */
import { useEffect, useMemo, useState } from 'react';
import { type Layout, layoutGraph } from '../graph/layout';
import type { Graph } from '../graph/model';
import type { PlainDefinition } from '../graph/worker';
import { inWorker } from './worker';

/** Below this a layout costs less than a frame. */
const SMALL = 150;

export type Positions = Readonly<Record<string, { x: number; y: number }>>;

export function useLayout(graph: Graph | null, saved?: Positions | null): Layout | null {
  const small = useMemo(() => (graph !== null && graph.nodes.length <= SMALL ? layoutGraph(graph) : null), [graph]);
  const [large, setLarge] = useState<{ graph: Graph; layout: Layout } | null>(null);
  useEffect(() => {
    if (graph === null || graph.nodes.length <= SMALL) return;
    let wanted = true;
    inWorker('layout', plain(graph))
      .catch(() => layoutGraph(graph))
      .then((layout) => wanted && setLarge({ graph, layout }));
    return () => {
      wanted = false;
    };
  }, [graph]);
  const own = small ?? (large !== null && large.graph === graph ? large.layout : null);
  return useMemo(() => (own === null || graph === null ? null : withPositions(own, graph, saved)), [own, graph, saved]);
}

/** What the layout needs of a definition: no config crosses over to the worker. */
function plain(graph: Graph): PlainDefinition {
  return {
    nodes: graph.nodes.map(({ id, type, exits }) => ({ id, type, exits })),
    edges: graph.edges.map((edge) => ({
      source: graph.nodes[edge.source]?.id ?? '',
      target: graph.nodes[edge.target]?.id ?? '',
      sourceHandle: edge.exit,
    })),
  };
}

/** Saved positions over an own layout. Where any are saved, lines go straight: the lanes of the layout are not free any more. */
export function withPositions(layout: Layout, graph: Graph, saved?: Positions | null): Layout {
  if (!saved || !graph.nodes.some((node) => Object.hasOwn(saved, node.id))) return layout;
  const positions = layout.positions.map((point, index) => {
    const id = graph.nodes[index]?.id ?? '';
    return Object.hasOwn(saved, id) ? { x: saved[id]?.x ?? point.x, y: saved[id]?.y ?? point.y } : point;
  });
  const left = (index: number) => positions[index]?.x ?? 0;
  const back = graph.edges.map((edge) => left(edge.target) <= left(edge.source));
  return { ...layout, positions, back, routes: layout.routes.map(() => []), ...extent(positions, layout) };
}

function extent(positions: Layout['positions'], layout: Layout) {
  let [width, height] = [0, 0];
  positions.forEach((point, index) => {
    width = Math.max(width, point.x + (layout.sizes[index]?.width ?? 0));
    height = Math.max(height, point.y + (layout.sizes[index]?.height ?? 0));
  });
  return { width, height };
}
