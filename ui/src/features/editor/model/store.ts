/** The one truth of an open editor: the text, what it means, where things stand, and its history. */
import { createStore, type StoreApi } from 'zustand/vanilla';
import { type Patch, SchemaText, type TextProblem } from '../../../graph/document';
import { type History, record, redo, startHistory, undo } from '../../../graph/history';
import type { CanvasLayout, DataAt, Diagnostic } from './wire';

export interface Selection {
  nodes: string[];
  /** Indexes into the edges of the definition. */
  edges: number[];
}

export interface SavedState {
  text: string;
  layout: CanvasLayout;
  /** What is being changed; null: nothing is stored yet. */
  version: number | null;
  layoutRevision: string | null;
}

export interface EditorState {
  text: string;
  /** The last text that could be read. */
  document: SchemaText;
  problem: TextProblem | null;
  layout: CanvasLayout;
  history: History;
  saved: SavedState;
  selection: Selection;
  readOnly: boolean;
  /** Of the present text; null while it is being checked for the first time. */
  diagnostics: Diagnostic[] | null;
  data: DataAt | null;
  /** Counts changes that came from elsewhere than the code pane, so that it takes them over. */
  foreign: number;
}

export interface EditorActions {
  apply: (patches: Patch[], options?: { join?: string; layout?: CanvasLayout; select?: Selection }) => void;
  setText: (text: string) => void;
  setLayout: (layout: CanvasLayout, join?: string) => void;
  select: (selection: Selection) => void;
  undo: () => void;
  redo: () => void;
  /** What was stored is the new base; `text` also replaces what is edited. */
  rebase: (saved: SavedState) => void;
  replace: (text: string, layout: CanvasLayout) => void;
  set: (part: Partial<Pick<EditorState, 'diagnostics' | 'data' | 'readOnly' | 'saved'>>) => void;
}

export type EditorStore = StoreApi<EditorState & EditorActions>;

const NOTHING: Selection = { nodes: [], edges: [] };
const sizes = new WeakMap<CanvasLayout, number>();

function sizeOf(layout: CanvasLayout): number {
  let size = sizes.get(layout);
  if (size === undefined) {
    size =
      80 * Object.keys(layout.positions).length +
      layout.notes.reduce((sum, note) => sum + 120 + note.text.length * 2, 0) +
      120 * layout.groups.length;
    sizes.set(layout, size);
  }
  return size;
}

const snapshot = (text: string, layout: CanvasLayout) => ({ text, layout, layoutSize: sizeOf(layout) });

/** Only nodes and edges that are still there stay selected. */
function kept(selection: Selection, document: SchemaText): Selection {
  const ids = new Set(document.definition.nodes.map((node) => node.id));
  const nodes = selection.nodes.filter((id) => ids.has(id));
  const edges = selection.edges.filter((at) => at < document.definition.edges.length);
  return nodes.length === selection.nodes.length && edges.length === selection.edges.length ? selection : { nodes, edges };
}

export function createEditor(document: SchemaText, saved: SavedState): EditorStore {
  return createStore<EditorState & EditorActions>((set, get) => {
    const read = (text: string, before: SchemaText) => {
      const reading = text === before.text ? ({ ok: true, document: before } as const) : SchemaText.read(text);
      return reading.ok ? { document: reading.document, problem: null } : { document: before, problem: reading.problem };
    };
    const go = (history: History) => {
      const { text, layout } = history.present.snapshot;
      const state = get();
      const parts = read(text, state.document);
      set({
        history,
        text,
        layout: layout as CanvasLayout,
        ...parts,
        selection: kept(state.selection, parts.document),
        foreign: state.foreign + 1,
      });
    };
    return {
      text: document.text,
      document,
      problem: null,
      layout: saved.layout,
      history: startHistory(snapshot(document.text, saved.layout)),
      saved,
      selection: NOTHING,
      readOnly: false,
      diagnostics: null,
      data: null,
      foreign: 0,
      apply: (patches, { join, layout, select } = {}) => {
        const state = get();
        if (state.readOnly || state.problem !== null) return;
        const next = state.document.patched(patches);
        const places = layout ?? state.layout;
        const history = record(state.history, snapshot(next.text, places), join ?? null, Date.now());
        set({
          document: next,
          text: next.text,
          layout: places,
          history,
          selection: kept(select ?? state.selection, next),
          foreign: state.foreign + 1,
        });
      },
      setText: (text) => {
        const state = get();
        if (state.readOnly || text === state.text) return;
        const parts = read(text, state.document);
        set({
          text,
          ...parts,
          selection: kept(state.selection, parts.document),
          history: record(state.history, snapshot(text, state.layout), 'text', Date.now()),
        });
      },
      setLayout: (layout, join) => {
        const state = get();
        if (state.readOnly) return;
        set({ layout, history: record(state.history, snapshot(state.text, layout), join ?? null, Date.now()) });
      },
      select: (selection) => set({ selection: kept(selection, get().document) }),
      undo: () => go(undo(get().history)),
      redo: () => go(redo(get().history)),
      rebase: (next) => set({ saved: next }),
      replace: (text, layout) => {
        const state = get();
        if (state.readOnly) return;
        const parts = read(text, state.document);
        set({
          text,
          layout,
          ...parts,
          selection: kept(state.selection, parts.document),
          history: record(state.history, snapshot(text, layout), null, Date.now()),
          foreign: state.foreign + 1,
        });
      },
      set: (part) => set(part),
    };
  });
}

export function isDirty(state: Pick<EditorState, 'text' | 'layout' | 'saved'>): boolean {
  return state.text !== state.saved.text || layoutChanged(state);
}

export function layoutChanged(state: Pick<EditorState, 'layout' | 'saved'>): boolean {
  return state.layout !== state.saved.layout && JSON.stringify(state.layout) !== JSON.stringify(state.saved.layout);
}
