/** What of a graph is in view: fitted from the layout, not from drawn nodes, because most of them are not drawn. */
import { useReactFlow, useStoreApi } from '@xyflow/react';
import { type RefObject, useEffect, useMemo, useRef } from 'react';
import type { Layout } from '../graph/layout';
import type { Graph } from '../graph/model';
import { type Bounds, boundsOf } from './flow';

export interface View {
  minZoom: number;
  fit: () => void;
  zoom: (factor: number) => void;
  /** Brings a node into view if it is not. */
  reveal: (index: number) => void;
  center: (x: number, y: number) => void;
  nodeUnder: (event: { clientX: number; clientY: number }) => string | null;
}

const MARGIN = 36;
/** Smaller than this a card cannot be read: a graph of few nodes is then shown in part. */
const READABLE = 0.5;
const FEW = 60;
const SMALLEST = 0.02;
/** Of a graph that is smaller than this when it is shown whole, nothing can be made out. */
const VISIBLE = 0.06;

/** `still`: nodes come and go under the hands of a person, so the view stays where it is. */
export function useView(host: RefObject<HTMLElement | null>, graph: Graph, layout: Layout, focus: string | null, still: boolean): View {
  const flow = useReactFlow();
  const store = useStoreApi();
  const bounds = useMemo(() => boundsOf(layout), [layout]);
  const view = useMemo((): View => {
    const size = () => host.current?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    const boxOf = (index: number): Bounds => ({
      ...(layout.positions[index] ?? { x: 0, y: 0 }),
      ...(layout.sizes[index] ?? { width: 0, height: 0 }),
    });
    const center = (x: number, y: number, zoom = store.getState().transform[2]) => {
      const { width, height } = size();
      void flow.setViewport({ x: width / 2 - x * zoom, y: height / 2 - y * zoom, zoom });
    };
    return {
      minZoom: SMALLEST,
      fit: () => void flow.setViewport(fitted(bounds, size())),
      zoom: (factor) => void flow.zoomTo(Math.min(2, Math.max(SMALLEST, store.getState().transform[2] * factor))),
      center,
      reveal: (index) => {
        const [x, y, zoom] = store.getState().transform;
        const { width, height } = size();
        const box = boxOf(index);
        const [left, top] = [box.x * zoom + x, box.y * zoom + y];
        const inside = left >= 0 && top >= 0 && left + box.width * zoom <= width && top + box.height * zoom <= height;
        if (!inside) center(box.x + box.width / 2, box.y + box.height / 2);
      },
      nodeUnder: (event) => {
        const at = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
        const found = graph.nodes.find((node) => contains(boxOf(node.index), at));
        return found?.id ?? null;
      },
    };
  }, [flow, store, host, graph, layout, bounds]);
  useFirstView(host, graph, { view, focus, bounds, layout, still });
  return view;
}

/** Once per graph, as soon as the canvas has a size: all of it, or what matters of it at a size that can be read. */
interface Wanted {
  view: View;
  focus: string | null;
  bounds: Bounds;
  layout: Layout;
  still: boolean;
}

function useFirstView(host: RefObject<HTMLElement | null>, graph: Graph, now: Wanted) {
  const flow = useReactFlow();
  const shown = useRef<Graph | null>(null);
  const wanted = useRef(now);
  wanted.current = now;
  useEffect(() => {
    const element = host.current;
    if (element === null || shown.current?.nodes.length === graph.nodes.length) return;
    if (shown.current !== null && wanted.current.still) return;
    const show = () => {
      const rect = element.getBoundingClientRect();
      if (rect.width < 10 || rect.height < 10) return;
      shown.current = graph;
      observer.disconnect();
      const now = wanted.current;
      const whole = fitted(now.bounds, rect);
      if (whole.zoom >= READABLE || (graph.nodes.length > FEW && whole.zoom >= VISIBLE)) return void flow.setViewport(whole);
      const index = graph.byId.get(now.focus ?? '') ?? 0;
      const at = now.layout.positions[index] ?? { x: 0, y: 0 };
      const zoom = 0.75;
      const left = Math.min(at.x - 3 * 280, now.bounds.x + now.bounds.width - rect.width / zoom);
      const x = MARGIN - Math.max(now.bounds.x, left) * zoom;
      void flow.setViewport({ x, y: rect.height / 2 - (at.y + 26) * zoom, zoom });
    };
    const observer = new ResizeObserver(show);
    observer.observe(element);
    return () => observer.disconnect();
  }, [flow, host, graph]);
}

function fitted(bounds: Bounds, { width, height }: { width: number; height: number }) {
  const room = Math.min((width - 2 * MARGIN) / bounds.width, (height - 2 * MARGIN) / bounds.height);
  const zoom = Math.min(1, Math.max(SMALLEST, room));
  return { x: (width - bounds.width * zoom) / 2 - bounds.x * zoom, y: (height - bounds.height * zoom) / 2 - bounds.y * zoom, zoom };
}

function contains(box: Bounds, at: { x: number; y: number }): boolean {
  return at.x >= box.x && at.x <= box.x + box.width && at.y >= box.y && at.y <= box.y + box.height;
}
