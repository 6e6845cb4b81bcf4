/** What the palette finds on the server: runs by id or its end, schemas, schedules. */
import { useQuery } from '@tanstack/react-query';
import { api, path } from '../api/client';
import { asApiError } from '../api/error';
import type { Execution, Page, ScheduledAction, Schema } from '../api/model';
import { queries } from '../api/queries';

export interface Places {
  runs: Execution[];
  schemas: Schema[];
  schedules: ScheduledAction[];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const END_OF_ID = /^[0-9a-f-]{4,36}$/i;

/** A whole id is asked for; the end of one is looked for in the newest runs, where a person has just seen it. */
async function findRuns(text: string, signal: AbortSignal): Promise<Execution[]> {
  if (UUID.test(text)) {
    try {
      return [await api.get<Execution>(path('/api/executions', text.toLowerCase()), undefined, signal)];
    } catch (thrown) {
      if (asApiError(thrown).status === 404) return [];
      throw thrown;
    }
  }
  const page = await api.get<Page<Execution>>('/api/executions', { limit: 500, view: 'brief' }, signal);
  const end = text.toLowerCase();
  return page.items.filter((run) => run.id.endsWith(end)).slice(0, 8);
}

export function usePlaces(text: string): Places {
  const needle = text.trim();
  const runs = useQuery({
    queryKey: ['palette', 'runs', needle],
    queryFn: ({ signal }) => findRuns(needle, signal),
    enabled: END_OF_ID.test(needle),
    staleTime: 5_000,
  });
  const schemas = useQuery({ ...queries.schemas({ limit: 500 }), staleTime: 30_000 });
  const schedules = useQuery({
    queryKey: ['palette', 'schedules', needle],
    queryFn: ({ signal }) => api.get<Page<ScheduledAction>>('/api/scheduled-actions', { prefix: needle, limit: 8 }, signal),
    enabled: needle.length > 1,
    staleTime: 5_000,
  });
  return { runs: runs.data ?? [], schemas: schemas.data?.items ?? [], schedules: schedules.data?.items ?? [] };
}

/** Where the letters of `needle` are found in order: the earlier and the closer together, the better. */
export function score(text: string, needle: string): number | null {
  const hay = text.toLowerCase();
  const want = needle.toLowerCase();
  const whole = hay.indexOf(want);
  if (whole >= 0) return whole === 0 ? 0 : /[\s\-_./]/.test(hay[whole - 1] ?? '') ? 1 : 2 + whole / 1000;
  let at = -1;
  let gaps = 0;
  for (const letter of want) {
    if (letter === ' ') continue;
    const next = hay.indexOf(letter, at + 1);
    if (next < 0) return null;
    gaps += next - at - 1;
    at = next;
  }
  // Letters strewn over a whole sentence are no match.
  return want.length < 2 || gaps > want.length * 2 ? null : 10 + gaps;
}

export function rank<T>(items: readonly T[], needle: string, textOf: (item: T) => string): T[] {
  return items
    .map((item) => ({ item, at: score(textOf(item), needle) }))
    .filter((one): one is { item: T; at: number } => one.at !== null)
    .sort((a, b) => a.at - b.at)
    .map((one) => one.item);
}
