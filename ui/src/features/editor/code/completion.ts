import { useRef } from 'react';
import { useEditor, useTools } from '../model/context';
import { useContextAt } from './data';
import type { CompletionData } from './expression';

/** Always the present data, without making the fields anew. */
export function useCompletionData(): { current: CompletionData } {
  const { functions } = useTools();
  const definition = useEditor((state) => state.document.definition);
  const context = useContextAt(useEditor((state) => state.data));
  const data = useRef<CompletionData>({ functions, nodes: [], context });
  data.current = { functions, nodes: definition.nodes.map((node) => node.id), context };
  return data;
}
