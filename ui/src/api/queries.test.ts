import { QueryClient } from '@tanstack/react-query';
import { describe, expect, it, vi } from 'vitest';
import type { Execution } from './model';
import { queries } from './queries';

const of = (event_version: number, status: string) => ({ id: 'r', status, event_version, seq: event_version }) as unknown as Execution;

describe('a run that is read while it goes on', () => {
  it('is not taken back by an answer that is older than what the stream told', async () => {
    const client = new QueryClient();
    let answer: (text: string) => void = () => undefined;
    vi.stubGlobal('fetch', () => new Promise((resolve) => (answer = (text) => resolve(new Response(text)))));
    const reading = client.fetchQuery(queries.run('r'));
    await vi.waitFor(() => expect(client.isFetching()).toBe(1), 20_000);
    client.setQueryData(['run', 'r'], of(7, 'completed'));
    answer(JSON.stringify(of(3, 'waiting')));
    await reading;
    expect(client.getQueryData(['run', 'r'])).toMatchObject({ status: 'completed', event_version: 7 });
    // The same state with another note, or a newer one, is taken.
    const again = client.fetchQuery({ ...queries.run('r'), staleTime: 0 });
    answer(JSON.stringify({ ...of(7, 'completed'), notes: [{ text: 'seen' }] }));
    await again;
    expect(client.getQueryData(['run', 'r'])).toMatchObject({ notes: [{ text: 'seen' }] });
    vi.unstubAllGlobals();
    client.clear();
  });
});
