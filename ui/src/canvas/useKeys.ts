/** The keys of a focused canvas. What is not for it goes on to the page. */
import { type KeyboardEvent, useCallback } from 'react';
import { rootsOf } from '../graph/layers';
import type { Graph } from '../graph/model';
import { type Direction, neighbour } from '../graph/outline';
import type { View } from './useView';

const ARROWS: Record<string, Direction> = { ArrowRight: 'next', ArrowLeft: 'previous', ArrowUp: 'up', ArrowDown: 'down' };

interface Context {
  graph: Graph;
  view: View;
  /** The selected node, -1 for none. */
  index: number;
  onSelect?: (id: string | null) => void;
  onOpen?: (id: string) => void;
}

export function useCanvasKeys({ graph, view, index, onSelect, onOpen }: Context) {
  return useCallback(
    (event: KeyboardEvent) => {
      if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
      const id = graph.nodes[index]?.id;
      const acts: Record<string, (() => void) | undefined> = {
        Enter: id === undefined ? undefined : () => onOpen?.(id),
        Escape: id === undefined ? undefined : () => onSelect?.(null),
        '+': () => view.zoom(1.25),
        '=': () => view.zoom(1.25),
        '-': () => view.zoom(0.8),
        '0': () => view.fit(),
      };
      const direction = event.shiftKey ? undefined : ARROWS[event.key];
      const act = direction === undefined ? acts[event.key] : () => walk(direction);
      if (act === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      act();

      function walk(to: Direction) {
        const next = index < 0 ? (rootsOf(graph)[0] ?? -1) : neighbour(graph, index, to);
        const found = graph.nodes[next];
        if (found === undefined) return;
        onSelect?.(found.id);
        view.reveal(next);
      }
    },
    [graph, view, index, onSelect, onOpen],
  );
}
