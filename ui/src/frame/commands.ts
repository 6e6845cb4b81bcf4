/** One table of commands: the palette, the shortcuts, the list of keys and the menus all read it. */
import type { ReactNode } from 'react';
import { useEffect, useRef } from 'react';
import { create } from 'zustand';

export interface Command {
  id: string;
  name: string;
  group: 'page' | 'go' | 'settings';
  icon?: ReactNode;
  /** `g r`, `x`, `Shift+N`, `Ctrl+K`, `ArrowLeft`, `F10`. Several with `|`. Letters work outside of inputs only. */
  keys?: string;
  /** Why it cannot be used now. */
  disabledReason?: string | false | null | undefined;
  act: () => void;
  /** Has a key but is not offered in the palette: movements. */
  keyOnly?: boolean;
  /** Also inside inputs: Ctrl+S. */
  everywhere?: boolean;
}

interface Table {
  /** By owner: the frame, the page, a part of it. Later ones win. */
  owners: ReadonlyMap<symbol, readonly Command[]>;
}

export const useCommandTable = create<Table>(() => ({ owners: new Map() }));

export function allCommands(): Command[] {
  const byId = new Map<string, Command>();
  for (const list of useCommandTable.getState().owners.values()) for (const command of list) byId.set(command.id, command);
  return [...byId.values()];
}

/** The commands of a component, as long as it is shown. They may change with every render. */
export function useCommands(list: readonly Command[]): void {
  const owner = useRef(Symbol('owner')).current;
  const latest = useRef(list);
  latest.current = list;
  const key = list.map((one) => [one.id, one.name, one.keys, one.disabledReason].join('\t')).join('\n');
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says when the list is another one
  useEffect(() => {
    const live = latest.current.map((one) => ({ ...one, act: () => latest.current.find((now) => now.id === one.id)?.act() }));
    useCommandTable.setState(({ owners }) => ({ owners: new Map(owners).set(owner, live) }));
  }, [key, owner]);
  useEffect(
    () => () =>
      useCommandTable.setState(({ owners }) => {
        const rest = new Map(owners);
        rest.delete(owner);
        return { owners: rest };
      }),
    [owner],
  );
}
