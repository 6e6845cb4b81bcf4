/** Breakpoints of a schema, kept in the browser. */
import { useCallback, useState } from 'react';

const placeOf = (schema: string) => `pawl.breakpoints.${schema}`;

function read(schema: string): ReadonlySet<string> {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(placeOf(schema)) ?? '[]');
    return new Set(Array.isArray(kept) ? kept.filter((id): id is string => typeof id === 'string') : []);
  } catch {
    // Storage can be forbidden: breakpoints then live as long as the page.
    return new Set();
  }
}

export function useBreakpoints(schema: string): [ReadonlySet<string>, (id: string) => void] {
  const [all, setAll] = useState<{ schema: string; ids: ReadonlySet<string> }>(() => ({ schema, ids: read(schema) }));
  const ids = all.schema === schema ? all.ids : read(schema);
  if (all.schema !== schema) setAll({ schema, ids });
  const toggle = useCallback(
    (id: string) => {
      setAll(({ ids: before }) => {
        const next = new Set(before);
        if (!next.delete(id)) next.add(id);
        try {
          localStorage.setItem(placeOf(schema), JSON.stringify([...next]));
        } catch {
          // As above.
        }
        return { schema, ids: next };
      });
    },
    [schema],
  );
  return [ids, toggle];
}
