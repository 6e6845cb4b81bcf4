import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef } from 'react';
import { Canvas } from '../../../canvas/Canvas';
import { Looks, type NodeLook, PLAIN_EDGE, PLAIN_NODE } from '../../../canvas/looks';
import { Outline } from '../../../canvas/Outline';
import type { Editing } from '../../../canvas/useFlow';
import { useLayout } from '../../../canvas/useLayout';
import { type GraphView, ViewSwitch } from '../../../canvas/ViewSwitch';
import { buildGraph, type DefinedNode, type Graph } from '../../../graph/model';
import { exitOf, typeOf } from '../../../graph/patch';
import { useT } from '../../../messages';
import { cx } from '../../../ui/cx';
import type { Actions, AddAt, View } from '../model/actions';
import { useEditor, useTools } from '../model/context';
import { exitsOf } from '../model/fields';
import type { Diagnostic, Pin, Point } from '../model/wire';
import { CanvasNotes } from './CanvasNotes';
import css from './EditCanvas.module.css';
import { DRAGGED_TYPE } from './TypePalette';

export interface Hover {
  at: Point;
  client: Point;
}

export interface EditCanvasProps {
  actions: Actions;
  /** Told what is drawn, for gestures that need places. */
  onDrawn: (view: View | null) => void;
  view: GraphView;
  onView: (view: GraphView) => void;
  /** The picture is to be looked at only. */
  still: boolean;
  onAdd: (where: AddAt, client: Point) => void;
  /** Where the pointer is on the empty canvas. */
  onHover: (place: Hover | null) => void;
  onNodeMenu: (id: string, client: Point) => void;
  pins: Pin[];
  /** A test run that is shown on the same canvas. */
  run?: (graph: Graph, looks: Looks, badge: BadgeOf) => void;
  children?: ReactNode;
}

export function EditCanvas({ actions, onDrawn, view, onView, still, onAdd, onHover, onNodeMenu, pins, run, children }: EditCanvasProps) {
  const t = useT();
  const { types, store } = useTools();
  const definition = useEditor((state) => state.document.definition);
  const positions = useEditor((state) => state.layout.positions);
  const selection = useEditor((state) => state.selection);
  const readOnly = useEditor((state) => state.readOnly);
  const problem = useEditor((state) => state.problem);
  const diagnostics = useEditor((state) => state.diagnostics);
  const graph = useMemo(
    () => buildGraph(definition, (node: DefinedNode) => exitsOf(types.get(node.type), node, false)),
    [definition, types],
  );
  const layout = useLayout(graph, positions);
  const looks = useMemo(() => looksOf(graph), [graph]);
  useEffect(() => onDrawn(layout === null ? null : { graph, layout }), [graph, layout, onDrawn]);
  useEffect(() => {
    const badge = badges(pins);
    if (run === undefined) showNodes(graph, looks, diagnostics ?? [], badge);
    else run(graph, looks, badge);
  }, [graph, looks, diagnostics, pins, run]);
  const fresh = useFresh(graph);
  const editing = useEditing(graph, { actions, onAdd, onHover, onNodeMenu }, readOnly || still || problem !== null || run !== undefined);
  const host = useRef<HTMLDivElement>(null);
  useFocusKept(host, view);
  // A large graph is laid out in the worker: until it is, the last picture stays.
  const drawn = useRef<(View & { looks: Looks }) | null>(null);
  if (layout !== null) drawn.current = { graph, layout, looks };
  if (drawn.current === null) return <div className={css.wait}>{t('common.loading')}</div>;
  const select = (id: string | null) => store.getState().select({ nodes: id === null ? [] : [id], edges: [] });
  const shown = {
    graph: drawn.current.graph,
    looks: drawn.current.looks,
    label: t('editor.canvas_of', { name: definition.name }),
    selected: selection.nodes.length === 1 ? (selection.nodes[0] ?? null) : null,
  };
  return (
    <div ref={host} className={cx(css.canvas, problem !== null && css.dimmed)}>
      {view === 'outline' ? (
        <Outline {...shown} onOpen={focusForm} onSelect={select} />
      ) : (
        <Canvas {...shown} layout={drawn.current.layout} onOpen={focusForm} follow={fresh} onSelect={select} editing={editing}>
          <CanvasNotes />
          {children}
        </Canvas>
      )}
      <ViewSwitch view={view} onView={onView} />
      {problem !== null && (
        <p className={css.broken} role="status">
          {t('editor.text_broken', { line: problem.line, message: problem.message })}
        </p>
      )}
    </div>
  );
}

/** Who worked in the picture goes on in the list, and the other way. */
function useFocusKept(host: RefObject<HTMLElement | null>, view: GraphView) {
  const before = useRef(view);
  useEffect(() => {
    if (before.current === view) return;
    before.current = view;
    if (document.activeElement === document.body) host.current?.querySelector<HTMLElement>('[role=application], [role=tree]')?.focus();
  }, [host, view]);
}

/** The selected node, if it was added just now: it comes into view. */
function useFresh(graph: Graph): string | null {
  const selected = useEditor((state) => (state.selection.nodes.length === 1 ? (state.selection.nodes[0] ?? null) : null));
  const before = useRef<Graph | null>(null);
  const fresh = useRef<string | null>(null);
  if (before.current !== graph) {
    const known = before.current === null || selected === null || before.current.byId.has(selected);
    fresh.current = known ? null : selected;
    before.current = graph;
  }
  return fresh.current;
}

/** Enter or a double click on a card: its form has the focus. */
function focusForm() {
  const form = document.querySelector('[data-node-form]');
  const first = '[role=tabpanel] input, [role=tabpanel] select, [role=tabpanel] textarea, [role=tabpanel] [contenteditable=true]';
  requestAnimationFrame(() => (form?.querySelector<HTMLElement>(first) ?? form?.querySelector('input'))?.focus());
}

function useEditing(
  graph: Graph,
  calls: Pick<EditCanvasProps, 'actions' | 'onAdd' | 'onHover' | 'onNodeMenu'>,
  locked: boolean,
): Editing | undefined {
  const { store } = useTools();
  const selection = useEditor((state) => state.selection);
  const latest = useRef({ ...calls, graph });
  latest.current = { ...calls, graph };
  const drawn = useMemo(() => drawnEdges(store.getState().document.definition, graph), [store, graph]);
  const handlers = useMemo((): Omit<Editing, 'selection'> => {
    const now = () => latest.current;
    return {
      onMove: (moves) => now().actions.moveTo(moves),
      onConnect: ({ source, exit, target }) => now().actions.connect({ node: source, exit }, target),
      onConnectNowhere: ({ source, exit, at, client }) =>
        now().onAdd({ from: { node: source, exit }, at: { x: at.x, y: at.y - 26 } }, client),
      onSelection: ({ nodes, edges }) => {
        const next = { nodes, edges: edges.flatMap((index) => drawn[index] ?? []) };
        const before = store.getState().selection;
        if (sameList(before.nodes, next.nodes) && sameList(before.edges, next.edges)) return;
        store.getState().select(next);
      },
      onPaneMenu: (at, client) => now().onAdd({ at: { x: at.x, y: at.y - 26 } }, client),
      onHover: (place) => now().onHover(place),
      onNodeMenu: (id, client) => now().onNodeMenu(id, client),
      onDrop: (data, at) => {
        const type = data.getData(DRAGGED_TYPE);
        if (type !== '') dropped(now().graph, now().actions, type, at, store);
      },
    };
  }, [drawn, store]);
  return useMemo(() => {
    if (locked) return undefined;
    const edges = drawn.flatMap((own, index) => (selection.edges.includes(own) ? [index] : []));
    return { ...handlers, selection: { nodes: selection.nodes, edges } };
  }, [locked, handlers, selection, drawn]);
}

const sameList = (a: readonly unknown[], b: readonly unknown[]) => a.length === b.length && a.every((one) => b.includes(one));

/** The edge of the text behind each edge that is drawn: those that lead nowhere are not. */
function drawnEdges(definition: { nodes: { id: string }[]; edges: { source: string; target: string }[] }, graph: Graph): number[] {
  return definition.edges.flatMap((edge, at) => (graph.byId.has(edge.source) && graph.byId.has(edge.target) ? [at] : []));
}

/** On a line it goes into that edge; else it stands where it was dropped. */
function dropped(graph: Graph, actions: Actions, type: string, at: Point, store: ReturnType<typeof useTools>['store']) {
  const line = document.elementsFromPoint(lastDrop.x, lastDrop.y).find((element) => element.closest('.react-flow__edge'));
  const id = line?.closest('.react-flow__edge')?.getAttribute('data-id');
  const edge = id === null || id === undefined ? undefined : graph.edges.find((one) => id === `e${one.index}`);
  if (edge !== undefined) {
    const definition = store.getState().document.definition;
    const source = graph.nodes[edge.source]?.id ?? '';
    const own = definition.edges[drawnEdges(definition, graph)[edge.index] ?? -1];
    const exit = own === undefined ? edge.exit : exitOf(own, typeOf(definition, source));
    actions.add(type, { from: { node: source, exit }, at: { x: at.x - 104, y: at.y - 26 } });
    return;
  }
  actions.add(type, { at: { x: at.x - 104, y: at.y - 26 } });
}

const lastDrop = { x: 0, y: 0 };
if (typeof document !== 'undefined') {
  document.addEventListener('drop', (event) => Object.assign(lastDrop, { x: event.clientX, y: event.clientY }), true);
}

function showNodes(graph: Graph, looks: Looks, diagnostics: Diagnostic[], badge: BadgeOf) {
  const worst = new Map<string, 'error' | 'warning'>();
  for (const one of diagnostics) {
    if (!one.node_id || one.severity === 'note') continue;
    if (one.severity === 'error' || !worst.has(one.node_id)) worst.set(one.node_id, one.severity);
  }
  for (const node of graph.nodes)
    looks.setNode(node.index, { ...PLAIN_NODE, problem: worst.get(node.id) ?? null, ...badge(node.definition) });
  for (const edge of graph.edges) looks.setEdge(edge.index, PLAIN_EDGE);
}

export type BadgeOf = (node: DefinedNode) => Pick<NodeLook, 'badge' | 'pinned' | 'entry'>;

function badges(pins: Pin[]): BadgeOf {
  const pinned = new Set(pins.map((pin) => pin.node));
  return (node) => ({ pinned: pinned.has(node.id), entry: node.entry === true, badge: node.retry ? '↻' : '' });
}

/** Remembers the view without rendering. */
export function useView(): [() => View | null, (view: View | null) => void] {
  const view = useRef<View | null>(null);
  const set = useCallback((next: View | null) => {
    view.current = next;
  }, []);
  return [useCallback(() => view.current, []), set];
}

/** Another graph, other looks: they go by place. */
function looksOf(_graph: ReturnType<typeof buildGraph>): Looks {
  return new Looks();
}
