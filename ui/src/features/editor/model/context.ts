import { createContext, useContext } from 'react';
import { useStore } from 'zustand';
import type { NodeType } from '../../../api/model';
import type { ModeOf } from '../../../graph/references';
import type { EditorActions, EditorState, EditorStore } from './store';
import type { ExpressionFunction } from './wire';

export interface EditorTools {
  store: EditorStore;
  types: Map<string, NodeType>;
  modeOf: ModeOf;
  functions: ExpressionFunction[];
  /** The name under which the schema is stored; null: it is new. */
  stored: string | null;
}

export const EditorContext = createContext<EditorTools | null>(null);

export function useTools(): EditorTools {
  const tools = useContext(EditorContext);
  if (tools === null) throw new Error('outside of an editor');
  return tools;
}

export function useEditor<T>(select: (state: EditorState & EditorActions) => T): T {
  return useStore(useTools().store, select);
}
