import { useCallback, useState } from 'react';

export type Selection = { kind: 'ids'; ids: ReadonlySet<string> } | { kind: 'all' };

const NONE: Selection = { kind: 'ids', ids: new Set() };

/** Ticked rows; a range with Shift goes from the row ticked last. */
export function useSelection(rowIds: readonly string[]) {
  const [selection, setSelection] = useState<Selection>(NONE);
  const [anchor, setAnchor] = useState<string | null>(null);
  const toggle = useCallback(
    (id: string, range: boolean) => {
      setSelection((before) => {
        const ids = new Set(before.kind === 'all' ? rowIds : before.ids);
        const [from, to] = [anchor === null ? -1 : rowIds.indexOf(anchor), rowIds.indexOf(id)];
        if (range && from >= 0 && to >= 0) for (const one of rowIds.slice(Math.min(from, to), Math.max(from, to) + 1)) ids.add(one);
        else if (!ids.delete(id)) ids.add(id);
        return { kind: 'ids', ids };
      });
      setAnchor(id);
    },
    [anchor, rowIds],
  );
  const clear = useCallback(() => setSelection(NONE), []);
  const all = useCallback(() => setSelection({ kind: 'all' }), []);
  const loaded = useCallback(() => setSelection({ kind: 'ids', ids: new Set(rowIds) }), [rowIds]);
  const has = (id: string) => selection.kind === 'all' || selection.ids.has(id);
  const size = selection.kind === 'all' ? null : selection.ids.size;
  return { selection, has, size, toggle, clear, all, loaded };
}
