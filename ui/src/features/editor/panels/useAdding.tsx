import { type ReactNode, useCallback, useMemo, useRef, useState } from 'react';
import { exitOf, typeOf } from '../../../graph/patch';
import { useT } from '../../../messages';
import type { Actions, AddAt } from '../model/actions';
import { useTools } from '../model/context';
import type { EditorState } from '../model/store';
import type { Point } from '../model/wire';
import { AddMenu } from './AddMenu';
import { ConnectMenu } from './ConnectMenu';
import type { Hover } from './EditCanvas';

export interface Adding {
  /** Opens the search at a place. */
  at: (where: AddAt, client: Point) => void;
  byKey: (before: boolean) => void;
  hover: (place: Hover | null) => void;
  /** Adds behind the selected node, without asking. */
  behind: (type: string) => void;
  connect: (id: string) => void;
  dialogs: ReactNode;
}

/** Into the selected edge, or behind the selected node. */
function placeBehind(actions: Actions, { document, selection: { nodes, edges } }: Pick<EditorState, 'document' | 'selection'>): AddAt {
  const edge = nodes.length === 0 && edges.length === 1 ? document.definition.edges[edges[0] ?? -1] : undefined;
  if (edge !== undefined) return { from: { node: edge.source, exit: exitOf(edge, typeOf(document.definition, edge.source)) } };
  const id = nodes.length === 1 ? nodes[0] : undefined;
  const exit = id === undefined ? null : actions.openExit(id);
  return id === undefined || exit === null ? {} : { from: { node: id, exit } };
}

/** On the screen, beside the card of a node; without one that is in view, at the top. */
function beside(node: string | undefined, before: boolean): Point {
  const card = node === undefined ? null : document.querySelector(`[data-node="${CSS.escape(node)}"]`);
  if (card === null) return { x: window.innerWidth / 2 - 152, y: 160 };
  const { left, right, top } = card.getBoundingClientRect();
  return { x: before ? left - 312 : right + 12, y: top };
}

/** The ways to a new node and to a new edge. */
export function useAdding(actions: Actions): Adding {
  const t = useT();
  const { store } = useTools();
  const [asked, setAsked] = useState<{ where: AddAt; client: Point } | null>(null);
  const [connecting, setConnecting] = useState<string | null>(null);
  const pointer = useRef<Hover | null>(null);
  const close = useCallback(() => setAsked(null), []);
  const pick = (type: string) => {
    if (asked !== null) actions.add(type, asked.where);
    close();
  };
  const ways = useMemo(
    () => ({
      at: (where: AddAt, client: Point) => setAsked({ where, client }),
      behind: (type: string) => void actions.add(type, placeBehind(actions, store.getState())),
      byKey: (before: boolean) => {
        const { nodes } = store.getState().selection;
        const where = before && nodes[0] !== undefined ? { before: nodes[0] } : placeBehind(actions, store.getState());
        const hovered = pointer.current;
        if (nodes.length === 0 && where.from === undefined && hovered !== null)
          setAsked({ where: { at: { x: hovered.at.x, y: hovered.at.y - 26 } }, client: hovered.client });
        else setAsked({ where, client: beside(nodes[0], before) });
      },
      hover: (place: Hover | null) => {
        pointer.current = place;
      },
      connect: setConnecting,
    }),
    [actions, store],
  );
  const dialogs = (
    <>
      {asked && <AddMenu at={asked.client} title={t('editor.add_node')} onClose={close} onPick={pick} />}
      {connecting !== null && <ConnectMenu id={connecting} actions={actions} onClose={() => setConnecting(null)} />}
    </>
  );
  return { ...ways, dialogs };
}
