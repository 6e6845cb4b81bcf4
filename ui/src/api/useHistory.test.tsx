import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createRoot, type Root } from 'react-dom/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { buildGraph, type Graph } from '../graph/model';
import type { Execution } from './model';
import { type History, useHistory } from './useHistory';

/** How many steps the server has of each run; an error: it refuses. */
const server = vi.hoisted(() => ({ steps: new Map<string, number | Error>() }));
vi.mock('./queries', () => ({ hasEnded: () => false, useLiveEvents: () => undefined }));
vi.mock('./outline', () => ({
  outlinePages: async function* (id: string, after: number) {
    const count = server.steps.get(id) ?? 0;
    if (typeof count !== 'number') throw count;
    const one = Array.from({ length: count - after }, () => 0);
    const ok = { nodes: [{ id: 'a', type: 'log' }], statuses: ['success'], handles: [], origin: null };
    const lines = { node: one, status: one, handle: one.map(() => null), start: one, duration: one, tries: one };
    yield { ...ok, ...lines, seq: count, base_seq: 0, from: after + 1, next: null };
  },
}));

let root: Root;
let history: History;
/** The errors that were shown with a run. */
let errors: { [run: string]: unknown[] } = {};

function Watch({ run, graph }: { run: Execution; graph: Graph }) {
  history = useHistory(run, graph);
  errors[run.id] = [...(errors[run.id] ?? []), history.error];
  return null;
}

const client = new QueryClient();
const graphOf = () => buildGraph({ nodes: [], edges: [] } as unknown as Parameters<typeof buildGraph>[0]);

function show(id: string, seq: number, graph: Graph) {
  const run = { id, seq, event_version: 1 } as unknown as Execution;
  root.render(
    <QueryClientProvider client={client}>
      <Watch run={run} graph={graph} />
    </QueryClientProvider>,
  );
}

describe('the steps of one run after another', () => {
  beforeEach(() => {
    server.steps.clear();
    errors = {};
    root = createRoot(document.createElement('div'));
  });
  afterEach(() => root.unmount());

  it('are read for the second one too, though it is no further than the first was', async () => {
    const [first, second] = [graphOf(), graphOf()];
    server.steps.set('one', 2);
    show('one', 2, first);
    await vi.waitFor(() => expect(history?.scrub?.last).toBe(2));
    server.steps.set('one', 5);
    show('one', 5, first);
    await vi.waitFor(() => expect(history.scrub?.last).toBe(5));
    server.steps.set('two', 0);
    show('two', 0, second);
    await vi.waitFor(() => {
      expect(history.scrub?.graph).toBe(second);
      expect(history.ready).toBe(true);
    });
    server.steps.set('two', 5);
    show('two', 5, second);
    await vi.waitFor(() => expect(history.scrub?.last).toBe(5));
  });
  it('do not begin with the error of the run before', async () => {
    server.steps.set('one', new Error('refused'));
    show('one', 0, graphOf());
    await vi.waitFor(() => expect(errors.one?.at(-1)).toBeInstanceOf(Error));
    server.steps.set('two', 1);
    show('two', 1, graphOf());
    await vi.waitFor(() => expect(history.scrub?.last).toBe(1));
    expect(errors.two?.every((error) => error === null)).toBe(true);
  });
});
