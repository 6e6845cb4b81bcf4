/** Real data for completion and results: the run and step that the chip shows. */
import { keepPreviousData, type QueryClient, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, path } from '../../../api/client';
import { ApiError } from '../../../api/error';
import type { Json } from '../../../api/json';
import type { Execution, Page, Step } from '../../../api/model';
import { type Outline, outlinePages } from '../../../api/outline';
import { useEditor, useTools } from '../model/context';
import type { DataAt, Evaluation } from '../model/wire';

/** What the chip or the address names: a run, and the step after which one looks; without a step the last visit of the node. */
export interface Chosen {
  execution: string;
  seq: number | null;
}

/** `RUN` or `RUN:STEP`. */
export function chosenOf(text: string): Chosen | null {
  const [execution, seq] = text.split(':');
  if (!execution) return null;
  return { execution, seq: seq !== undefined && /^\d{1,9}$/.test(seq) ? Number(seq) : null };
}

const NEWEST = 10;
/** So many runs are looked through for one that came to the node. */
const LOOKED_AT = 5;

/** The newest runs of a schema; test runs are runs like any other here, although the lists leave them out. */
export async function runsOf(schema: string, signal?: AbortSignal): Promise<Execution[]> {
  const pages = await Promise.all(
    [false, true].map((trial) =>
      api.get<Page<Execution>>('/api/executions', { schema, limit: NEWEST, view: 'brief', trial: trial || undefined }, signal),
    ),
  );
  return newestOf(pages.flatMap((page) => page.items));
}

/** Ids rise with time. */
export function newestOf(runs: Execution[]): Execution[] {
  const known = new Map(runs.map((run) => [run.id, run]));
  return [...known.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, NEWEST);
}

/** The steps of a run without payloads; of a run that goes on, those there are. */
export const stepsOf = (run: Pick<Execution, 'id' | 'seq'>) =>
  queryOptions({
    queryKey: ['editor-steps', run.id, run.seq],
    queryFn: async ({ signal }) => {
      const pages: Outline[] = [];
      for await (const page of outlinePages(run.id, 0, signal)) pages.push(page);
      return pages;
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });

/** The step of the visit that comes next after `seq`, else of the last one; with no `seq` the last one. Null: it was never there. */
export function visitOf(pages: Outline[], node: string | null, seq: number | null): number | null {
  let found: number | null = null;
  for (const page of pages) {
    const own = page.nodes.findIndex((one) => one.id === node);
    if (own < 0) continue;
    for (let at = 0; at < page.node.length; at++) {
      if (page.node[at] !== own) continue;
      found = page.from + at;
      if (seq !== null && found > seq) return found;
    }
  }
  return found;
}

const dataAt = (run: Execution, step: number | null, seq: number): DataAt => ({
  execution: run.id,
  seq,
  version: run.version,
  trial: run.trial === true,
  visited: step !== null,
  step,
});

/** The last run that came to the node; without such a run the newest one at its end. */
async function findData(client: QueryClient, schema: string, node: string | null, signal: AbortSignal): Promise<DataAt | null> {
  const runs = await runsOf(schema, signal);
  if (node !== null) {
    for (const run of runs.slice(0, LOOKED_AT)) {
      const step = visitOf(await client.fetchQuery(stepsOf(run)), node, null);
      if (step !== null) return dataAt(run, step, step - 1);
    }
  }
  const [last] = runs;
  return last === undefined ? null : dataAt(last, null, last.seq);
}

async function pickData(client: QueryClient, { execution, seq }: Chosen, node: string | null, signal: AbortSignal): Promise<DataAt> {
  const run = await api.get<Execution>(path('/api/executions', execution), undefined, signal);
  const step = node === null ? null : visitOf(await client.fetchQuery(stepsOf(run)), node, seq);
  if (seq === null) return dataAt(run, step, step === null ? run.seq : step - 1);
  return dataAt(run, step, Math.min(seq, run.seq));
}

/** The data of the selected node: as chosen in the chip (`data=RUN:STEP`), else found. */
export function useDataAt(node: string | null, chosen: Chosen | null): DataAt | null {
  const { stored } = useTools();
  const client = useQueryClient();
  const found = useQuery({
    queryKey: [...DATA, stored, node],
    queryFn: ({ signal }) => findData(client, stored ?? '', node, signal),
    enabled: stored !== null && chosen === null,
    staleTime: 15_000,
  });
  const picked = useQuery({
    queryKey: [...DATA, 'run', chosen?.execution, chosen?.seq, node],
    queryFn: ({ signal }) => pickData(client, chosen as Chosen, node, signal),
    enabled: chosen !== null,
  });
  return (chosen === null ? found.data : picked.data) ?? null;
}

const DATA = ['editor-data'];
const RUNS = ['editor-runs'];

export function useRuns() {
  const { stored } = useTools();
  return useQuery({
    queryKey: [...RUNS, stored],
    queryFn: ({ signal }) => runsOf(stored ?? '', signal),
    enabled: stored !== null,
    staleTime: 10_000,
  });
}

/** There are newer data than those that were found: a test run went on. */
export function readDataAgain(client: QueryClient): void {
  for (const queryKey of [DATA, RUNS]) void client.invalidateQueries({ queryKey });
}

/** What a node after that step sees. */
export function useContextAt(data: DataAt | null): Json {
  const query = useQuery({
    queryKey: ['editor-context', data?.execution, data?.seq],
    queryFn: async ({ signal }) => {
      const at = data as DataAt;
      const where = path('/api/executions', at.execution, 'steps', at.seq, 'context');
      const view = await api.get<{ value: Json }>(where, { view: 'after', max_bytes: 400_000 }, signal);
      return view.value;
    },
    enabled: data !== null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return query.data ?? {};
}

/** The step of the node itself: its input and what came of it. */
export function useStepAt(data: DataAt | null) {
  return useQuery({
    queryKey: ['step', data?.execution, data?.step],
    queryFn: ({ signal }) => api.get<Step>(path('/api/executions', data?.execution ?? '', 'steps', data?.step ?? 0), undefined, signal),
    enabled: data?.step != null,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The result of a text by the engine, 250 ms after typing. */
export function useEvaluation(text: string, mode: 'template' | 'url' | 'expression', wanted: boolean): Evaluation | null {
  const data = useEditor((state) => state.data);
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 250);
    return () => clearTimeout(timer);
  }, [text]);
  const useful = wanted && data !== null && settled.trim() !== '' && (mode === 'expression' || settled.includes('{{'));
  const query = useQuery({
    queryKey: ['evaluate', settled, mode, data?.execution, data?.seq],
    queryFn: async ({ signal }) => {
      const at = data as DataAt;
      return api.post<Evaluation>(
        '/api/expressions/evaluate',
        { text: settled, mode, at: { execution: at.execution, seq: at.seq } },
        { signal },
      );
    },
    enabled: useful,
    staleTime: 60_000,
    retry: false,
    placeholderData: keepPreviousData,
  });
  if (!useful) return null;
  if (query.error) return { ok: false, error: { code: codeOf(query.error), message: query.error.message, hint: null, start: 0, end: 0 } };
  return query.data ?? null;
}

const codeOf = (error: Error) => (error instanceof ApiError ? error.code : 'UI_ERROR');
