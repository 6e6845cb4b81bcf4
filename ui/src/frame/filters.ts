/** Filters of the list of runs that a person gave a name to. In this browser only. */
import { create } from 'zustand';

export interface SavedFilter {
  name: string;
  /** As in the address: `?status=failed&since=24h`. */
  search: string;
}

const PLACE = 'pawl.filters';

/** Whatever an older or another UI wrote there: what is no filter is left out. */
export function readFilters(text: string | null): SavedFilter[] {
  try {
    const list: unknown = JSON.parse(text ?? '[]');
    return Array.isArray(list) ? list.filter(isFilter).map(({ name, search }) => ({ name, search })) : [];
  } catch {
    return [];
  }
}

function isFilter(one: unknown): one is SavedFilter {
  const { name, search } = (one ?? {}) as Partial<SavedFilter>;
  return typeof name === 'string' && name !== '' && typeof search === 'string' && search.startsWith('?');
}

function first(): SavedFilter[] {
  try {
    return readFilters(localStorage.getItem(PLACE));
  } catch {
    // Storage can be forbidden.
    return [];
  }
}

export const useSavedFilters = create<{ list: readonly SavedFilter[] }>(() => ({ list: first() }));

function keep(change: (list: readonly SavedFilter[]) => SavedFilter[]): void {
  // Another tab may have written meanwhile.
  const list = change(first());
  useSavedFilters.setState({ list });
  try {
    localStorage.setItem(PLACE, JSON.stringify(list));
  } catch {
    // Not kept for the next visit; it holds for this one.
  }
}

/** The same name again means the new filter. */
export function saveFilter(filter: SavedFilter): void {
  keep((list) => [...list.filter((one) => one.name !== filter.name), filter].sort((a, b) => a.name.localeCompare(b.name)));
}

export function removeFilter(name: string): void {
  keep((list) => list.filter((one) => one.name !== name));
}
