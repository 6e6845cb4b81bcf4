/** Every gesture, for mouse, keyboard, menus and palette alike. Each is one entry of the history. */
import { copyText, paste, readCopy } from '../../../graph/clipboard';
import type { Layout } from '../../../graph/layout';
import type { Graph } from '../../../graph/model';
import {
  addNode,
  connect,
  deleteNodes,
  disconnect,
  type Exit,
  exitOf,
  freeId,
  nodeIndex,
  renameNode,
  setField,
  typeOf,
} from '../../../graph/patch';
import { rewriteSteps } from '../../../graph/references';
import type { EditorTools } from './context';
import { exitsOf, freshConfig } from './fields';
import { type Alignment, aligned, freePlace, moved, type Places, placesOf, reachable, STEP_X, shifted, tidied } from './places';
import type { CanvasLayout, Point } from './wire';

/** What is on the screen now. */
export interface View {
  graph: Graph;
  layout: Layout;
}

export interface AddAt {
  from?: Exit;
  before?: string;
  at?: Point;
}

export type Actions = ReturnType<typeof createActions>;

export function createActions(tools: EditorTools, view: () => View | null) {
  const { store, types, modeOf } = tools;
  const state = () => store.getState();
  const definition = () => state().document.definition;
  const places = (): Places => {
    const now = view();
    return now === null ? state().layout.positions : placesOf(now.graph, now.layout);
  };
  const layoutWith = (positions: Places): CanvasLayout => ({ ...state().layout, positions });
  const isPlaced = () => Object.keys(state().layout.positions).length > 0;
  const firstExit = (id: string) => {
    const node = definition().nodes.find((one) => one.id === id);
    return node === undefined ? 'success' : (exitsOf(types.get(node.type), node, false)[0] ?? null);
  };

  /** The exit of a node that leads nowhere yet, else its first. */
  const openExit = (id: string): string | null => {
    const node = definition().nodes.find((one) => one.id === id);
    if (node === undefined) return null;
    const used = new Set(
      definition()
        .edges.filter((edge) => edge.source === id)
        .map((edge) => exitOf(edge, node.type)),
    );
    const exits = exitsOf(types.get(node.type), node, false);
    return exits.find((exit) => !used.has(exit) && exit !== 'error') ?? exits[0] ?? null;
  };

  const add = (typeName: string, where: AddAt) => {
    const type = types.get(typeName);
    const id = freeId(typeName, new Set(definition().nodes.map((node) => node.id)));
    const config = type === undefined ? undefined : freshConfig(type);
    const node = config === undefined ? { id, type: typeName } : { id, type: typeName, config };
    const onward = type === undefined ? 'success' : (exitsOf(type, node, false).find((exit) => exit !== 'error') ?? null);
    const patches = addNode(definition(), { node, from: where.from, before: where.before, onward });
    const layout = where.at === undefined && !isPlaced() ? undefined : layoutWith({ ...roomFor(where), [id]: placeOf(where) });
    state().apply(patches, { layout, select: { nodes: [id], edges: [] } });
    return id;
  };

  /** What stands right of an edge that gets a node moves on by one column. */
  const roomFor = (where: AddAt): Places => {
    const now = view();
    const next = where.before ?? (where.from === undefined ? undefined : targetOf(where.from));
    if (where.at !== undefined || next === undefined || now === null) return places();
    const all = places();
    const source = where.from === undefined ? undefined : all[where.from.node];
    const target = all[next];
    if (target === undefined) return all;
    const gap = source === undefined ? 0 : target.x - source.x;
    return gap >= 2 * STEP_X ? all : shifted(all, target.x, reachable(now.graph, next, 'down'));
  };
  const targetOf = (from: Exit) =>
    definition().edges.find((edge) => edge.source === from.node && exitOf(edge, typeOf(definition(), from.node)) === from.exit)?.target;
  const placeOf = (where: AddAt): Point => {
    const all = places();
    if (where.at !== undefined) return { x: Math.round(where.at.x), y: Math.round(where.at.y) };
    if (where.before !== undefined) return all[where.before] ?? { x: 0, y: 0 };
    const source = where.from === undefined ? undefined : all[where.from.node];
    if (source !== undefined) return freePlace(roomFor(where), { x: source.x + STEP_X, y: source.y });
    const right = Math.max(0, ...Object.values(all).map((at) => at.x));
    return freePlace(all, { x: right, y: 0 });
  };

  const selected = () => state().selection.nodes;
  const remove = (reconnect: boolean) => {
    const { selection } = state();
    const edges = selection.edges.flatMap((at) => definition().edges[at] ?? []);
    if (selection.nodes.length > 0)
      state().apply(deleteNodes(definition(), new Set(selection.nodes), reconnect), { select: { nodes: [], edges: [] } });
    else if (edges.length > 0) {
      const exits = edges.map((edge) => ({ node: edge.source, exit: exitOf(edge, typeOf(definition(), edge.source)) }));
      state().apply(disconnect(definition(), exits), { select: { nodes: [], edges: [] } });
    }
  };
  const copied = () => copyText(definition(), new Set(selected()), places());

  const pasteText = (text: string, at?: Point): number => {
    const copy = readCopy(text);
    if (copy === null) return 0;
    const pasted = paste(definition(), copy, modeOf);
    if (pasted.ids.length === 0) return 0;
    const all = places();
    const known = Object.values(pasted.positions);
    const corner = { x: Math.min(...known.map((one) => one.x)), y: Math.min(...known.map((one) => one.y)) };
    const to = at ?? freePlace(all, known.length > 0 ? { x: corner.x + 40, y: corner.y + 40 } : { x: 0, y: 0 });
    const made: Places = {};
    pasted.ids.forEach((id, index) => {
      const old = pasted.positions[id];
      made[id] =
        old === undefined
          ? freePlace({ ...all, ...made }, { x: to.x + index * STEP_X, y: to.y })
          : { x: to.x + old.x - corner.x, y: to.y + old.y - corner.y };
    });
    state().apply(pasted.patches, { layout: layoutWith({ ...all, ...made }), select: { nodes: pasted.ids, edges: [] } });
    return pasted.ids.length;
  };

  const rename = (from: string, to: string) => {
    const { patches } = renameNode(definition(), from, to, modeOf);
    const { [from]: at, ...others } = state().layout.positions;
    const layout = at === undefined ? undefined : layoutWith({ ...others, [to]: at });
    state().apply(patches, { layout, select: { nodes: [to], edges: [] } });
  };

  return {
    add,
    openExit,
    firstExit,
    connect: (from: Exit, target: string) => state().apply(connect(definition(), from, target)),
    disconnect: (from: Exit) => state().apply(disconnect(definition(), [from])),
    remove,
    copied,
    pasteText,
    rename,
    renaming: (from: string, to: string) => renameNode(definition(), from, to, modeOf),
    duplicate: () => pasteText(copied()),
    toggleDisabled: () => {
      const nodes = definition().nodes.filter((node) => selected().includes(node.id));
      const off = nodes.some((node) => node.disabled !== true);
      state().apply(nodes.flatMap((node) => setField(definition(), node.id, ['disabled'], off ? true : undefined)));
    },
    moveTo: (moves: { id: string; x: number; y: number }[]) => {
      const all = places();
      const real = moves.filter((move) => all[move.id]?.x !== move.x || all[move.id]?.y !== move.y);
      if (real.length > 0) state().setLayout(layoutWith({ ...all, ...Object.fromEntries(real.map(({ id, x, y }) => [id, { x, y }])) }));
    },
    nudge: (by: Point) => state().setLayout(layoutWith(moved(places(), selected(), by)), `nudge ${selected().join()}`),
    align: (how: Alignment) => state().setLayout(layoutWith(aligned(places(), selected(), how))),
    /** The selected nodes are put in order where they are; with fewer than two, all get the places of the automatic layout: none are stored. */
    tidy: () => {
      const now = view();
      const chosen = selected();
      if (chosen.length < 2) state().setLayout(layoutWith({}));
      // Without a picture yet there is nothing to put in order, and the places of all the others stay.
      else if (now !== null) state().setLayout(layoutWith(tidied(places(), now.graph, chosen)));
    },
    selectAll: () => state().select({ nodes: definition().nodes.map((node) => node.id), edges: [] }),
    selectReachable: (direction: 'up' | 'down') => {
      const now = view();
      const ids = new Set<string>();
      if (now !== null) for (const id of selected()) for (const one of reachable(now.graph, id, direction)) ids.add(one);
      state().select({ nodes: [...ids], edges: [] });
    },
    /** Takes the first name that a hint suggests. */
    replaceAt: (pointer: string, from: string, to: string) => replaceAt(tools, pointer, from, to),
  };
}

/** A value of the text, or a name inside of it, by JSON pointer. */
function replaceAt({ store }: EditorTools, pointer: string, from: string, to: string) {
  const { document, apply } = store.getState();
  const path = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const value = path.reduce<unknown>((at, key) => (at as Record<string | number, unknown> | undefined)?.[key], document.definition);
  if (path.at(-1) === from) {
    apply([
      { op: 'delete', path },
      { op: 'set', path: [...path.slice(0, -1), to], value },
    ]);
  } else if (typeof value === 'string') {
    const renamed = value.includes(`steps.${from}`)
      ? rewriteSteps(value, new Map([[from, to]]), value.includes('{{') ? 'template' : 'expression').text
      : value;
    apply([{ op: 'set', path, value: renamed === value ? value.replace(from, to) : renamed }]);
  }
}

/** Whether an id can be given to a node; the reason if not. */
export function idProblem(tools: EditorTools, from: string, to: string): 'empty' | 'taken' | 'dollar' | 'long' | null {
  if (to.trim() === '') return 'empty';
  if (to.startsWith('$')) return 'dollar';
  if ([...to].length > 100) return 'long';
  return to !== from && nodeIndex(tools.store.getState().document.definition, to) >= 0 ? 'taken' : null;
}
