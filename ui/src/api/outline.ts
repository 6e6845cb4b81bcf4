/** Every step of a run without its payloads, page after page. */
import type { Columns } from '../graph/scrub';
import { api, path } from './client';

export interface Outline extends Columns {
  next: number | null;
  gone?: { up_to: number; execution_id: string; message: string };
}

export const outlineAfter = (id: string, after: number, signal?: AbortSignal) =>
  api.get<Outline>(path('/api/executions', id, 'outline'), { after }, signal);

/** All pages, one after the other. */
export async function* outlinePages(id: string, after: number, signal?: AbortSignal): AsyncGenerator<Outline> {
  for (let from: number | null = after; from !== null; ) {
    const page: Outline = await outlineAfter(id, from, signal);
    yield page;
    from = page.next;
  }
}
