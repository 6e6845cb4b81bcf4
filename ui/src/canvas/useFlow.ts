/** The arrays of xyflow. Only an editor changes them; a canvas to read makes them once per layout. */
import {
  applyNodeChanges,
  type Connection,
  type EdgeChange,
  type FinalConnectionState,
  type NodeChange,
  type ReactFlowProps,
  useReactFlow,
} from '@xyflow/react';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Layout } from '../graph/layout';
import { type Graph, SUCCESS } from '../graph/model';
import { type CardNode, flowEdges, flowNodes, type LineEdge } from './flow';
import type { Looks } from './looks';

interface Place {
  x: number;
  y: number;
}

export interface Editing {
  onMove: (moves: { id: string; x: number; y: number }[]) => void;
  onConnect: (made: { source: string; exit: string; target: string }) => void;
  /** A line was dropped on nothing: `at` is on the canvas, `client` on the screen. */
  onConnectNowhere: (from: { source: string; exit: string; at: Place; client: Place }) => void;
  onSelection: (chosen: { nodes: string[]; edges: number[] }) => void;
  selection?: { nodes: readonly string[]; edges: readonly number[] };
  /** A place is asked about: by the right button or by a double click. */
  onPaneMenu?: (at: Place, client: Place) => void;
  /** Where the pointer is on the empty canvas; null: elsewhere. */
  onHover?: (place: { at: Place; client: Place } | null) => void;
  onNodeMenu?: (id: string, client: Place) => void;
  /** Something was dragged here from outside. */
  onDrop?: (data: DataTransfer, at: Place) => void;
}

type Handlers = Partial<ReactFlowProps<CardNode, LineEdge>>;

export function useFlow(
  graph: Graph,
  layout: Layout,
  looks: Looks,
  editing: Editing | undefined,
): { nodes: CardNode[]; edges: LineEdge[]; handlers: Handlers } {
  const editable = editing !== undefined;
  const made = useMemo(() => flowNodes(graph, layout, looks, editable), [graph, layout, looks, editable]);
  const edges = useMemo(() => flowEdges(graph, layout, looks, editable), [graph, layout, looks, editable]);
  const [moved, setMoved] = useState(made);
  useEffect(() => setMoved(made), [made]);
  const selection = editing?.selection;
  const nodes = useMemo(() => (editable ? withSelection(moved, selection?.nodes) : made), [editable, moved, made, selection?.nodes]);
  const marked = useMemo(() => withSelectedEdges(edges, selection?.edges), [edges, selection?.edges]);
  const pick = usePicked(editing);
  const change = useCallback(
    (changes: NodeChange<CardNode>[]) => {
      const places = changes.filter((one) => one.type === 'position');
      if (places.length > 0) setMoved((before) => applyNodeChanges(places, before));
      pick('nodes', changes);
    },
    [pick],
  );
  const changeEdges = useCallback((changes: EdgeChange<LineEdge>[]) => pick('edges', changes), [pick]);
  const handlers = useEditHandlers(editing, change, changeEdges);
  return { nodes, edges: marked, handlers };
}

/**
 * The selection is the owner's, so it is told by what was picked and not by what is drawn: a node that was just made is selected before it is
 * drawn. Nodes and edges are picked one after the other in one click, hence the ref.
 */
function usePicked(editing: Editing | undefined) {
  const chosen = useRef<{ nodes: readonly string[]; edges: readonly number[] }>({ nodes: [], edges: [] });
  chosen.current = editing?.selection ?? { nodes: [], edges: [] };
  const tell = useRef(editing?.onSelection);
  tell.current = editing?.onSelection;
  return useCallback((kind: 'nodes' | 'edges', changes: (NodeChange<CardNode> | EdgeChange<LineEdge>)[]) => {
    const picked = changes.filter((one) => one.type === 'select');
    if (picked.length === 0) return;
    const next = { nodes: new Set(chosen.current.nodes), edges: new Set(chosen.current.edges) };
    for (const { id, selected } of picked) {
      if (kind === 'nodes') toggle(next.nodes, id, selected);
      else toggle(next.edges, Number(id.slice(1)), selected);
    }
    const made = { nodes: [...next.nodes], edges: [...next.edges] };
    chosen.current = made;
    tell.current?.(made);
  }, []);
}

function toggle<T>(set: Set<T>, one: T, on: boolean): void {
  if (on) set.add(one);
  else set.delete(one);
}

function withSelection(nodes: CardNode[], chosen: readonly string[] | undefined): CardNode[] {
  if (chosen === undefined) return nodes;
  const wanted = new Set(chosen);
  return nodes.map((node) => (wanted.has(node.id) === (node.selected === true) ? node : { ...node, selected: wanted.has(node.id) }));
}

function withSelectedEdges(edges: LineEdge[], chosen: readonly number[] | undefined): LineEdge[] {
  if (chosen === undefined || chosen.length === 0) return edges;
  return edges.map((edge, index) => (chosen.includes(index) ? { ...edge, selected: true } : edge));
}

function useEditHandlers(
  editing: Editing | undefined,
  onNodesChange: (changes: NodeChange<CardNode>[]) => void,
  onEdgesChange: (changes: EdgeChange<LineEdge>[]) => void,
): Handlers {
  const { screenToFlowPosition } = useReactFlow();
  return useMemo((): Handlers => {
    if (editing === undefined) return {};
    return {
      onNodesChange,
      onEdgesChange,
      onNodeDragStop: (_event, _node, nodes) =>
        editing.onMove(nodes.map(({ id, position }) => ({ id, x: Math.round(position.x), y: Math.round(position.y) }))),
      onSelectionDragStop: (_event, nodes) =>
        editing.onMove(nodes.map(({ id, position }) => ({ id, x: Math.round(position.x), y: Math.round(position.y) }))),
      onConnect: ({ source, sourceHandle, target }: Connection) => editing.onConnect({ source, exit: sourceHandle ?? SUCCESS, target }),
      onConnectEnd: (event: MouseEvent | TouchEvent, state: FinalConnectionState) => {
        if (state.isValid || state.fromNode === null || state.fromHandle?.type !== 'source') return;
        const client = clientOf(event);
        editing.onConnectNowhere({
          source: state.fromNode.id,
          exit: state.fromHandle.id ?? SUCCESS,
          at: screenToFlowPosition(client),
          client,
        });
      },
      onDoubleClick: (event) => {
        if (!(event.target instanceof Element) || !event.target.classList.contains('react-flow__pane')) return;
        const client = { x: event.clientX, y: event.clientY };
        editing.onPaneMenu?.(screenToFlowPosition(client), client);
      },
      onPaneMouseMove: (event) => {
        const client = { x: event.clientX, y: event.clientY };
        editing.onHover?.({ at: screenToFlowPosition(client), client });
      },
      onPaneMouseLeave: () => editing.onHover?.(null),
      onPaneContextMenu: (event) => {
        event.preventDefault();
        const client = { x: event.clientX, y: event.clientY };
        editing.onPaneMenu?.(screenToFlowPosition(client), client);
      },
      onNodeContextMenu: (event, node) => {
        event.preventDefault();
        editing.onNodeMenu?.(node.id, { x: event.clientX, y: event.clientY });
      },
      onDragOver: (event) => event.preventDefault(),
      onDrop: (event) => {
        event.preventDefault();
        editing.onDrop?.(event.dataTransfer, screenToFlowPosition({ x: event.clientX, y: event.clientY }));
      },
    };
  }, [editing, onNodesChange, onEdgesChange, screenToFlowPosition]);
}

function clientOf(event: MouseEvent | TouchEvent): Place {
  const touch = 'changedTouches' in event ? event.changedTouches[0] : event;
  return { x: touch?.clientX ?? 0, y: touch?.clientY ?? 0 };
}
