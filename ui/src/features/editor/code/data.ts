/** Real data for completion and results: the run and step that the chip shows. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, path } from '../../../api/client';
import { ApiError } from '../../../api/error';
import type { Json } from '../../../api/json';
import type { Execution, Page, Step } from '../../../api/model';
import { useEditor, useTools } from '../model/context';
import type { DataAt, Evaluation } from '../model/wire';

interface Outline {
  from: number;
  nodes: { id: string }[];
  node: number[];
  next: number | null;
}

/** The last visit of a node in a run; the columns of the outline, without payloads. */
async function lastVisit(run: string, node: string, signal: AbortSignal): Promise<number | null> {
  let after: number | undefined;
  let found: number | null = null;
  for (let page = 0; page < 4; page++) {
    const outline = await api.get<Outline>(path('/api/executions', run, 'outline'), { after, inherited: true }, signal);
    const index = outline.nodes.findIndex((one) => one.id === node);
    const at = outline.node.lastIndexOf(index);
    if (index >= 0 && at >= 0) found = outline.from + at;
    if (outline.next === null) break;
    after = outline.next;
  }
  return found;
}

export function runsOf(schema: string, signal?: AbortSignal) {
  return api.get<Page<Execution>>('/api/executions', { schema, limit: 10, view: 'brief' }, signal);
}

/** The last run that came to the node, of this version or an older one; without such a run the last run at its end. */
async function findData(schema: string, node: string | null, signal: AbortSignal): Promise<DataAt | null> {
  const { items } = await runsOf(schema, signal);
  if (node !== null) {
    for (const run of items.slice(0, 5)) {
      const step = await lastVisit(run.id, node, signal);
      if (step !== null) return { execution: run.id, seq: step - 1, version: run.version, visited: true, step };
    }
  }
  const [last] = items;
  return last === undefined ? null : { execution: last.id, seq: last.seq, version: last.version, visited: false, step: null };
}

/** The data of the selected node: as chosen in the chip (`data=RUN:STEP`), else found. */
export function useDataAt(node: string | null, chosen: { execution: string; seq: number } | null): DataAt | null {
  const { stored } = useTools();
  const found = useQuery({
    queryKey: ['editor-data', stored, node],
    queryFn: ({ signal }) => findData(stored ?? '', node, signal),
    enabled: stored !== null && chosen === null,
    staleTime: 15_000,
  });
  const picked = useQuery({
    queryKey: ['editor-data', 'run', chosen?.execution, node],
    queryFn: async ({ signal }): Promise<DataAt> => {
      const at = chosen as { execution: string; seq: number };
      const run = await api.get<Execution>(path('/api/executions', at.execution), undefined, signal);
      return { execution: at.execution, seq: Math.min(at.seq, run.seq), version: run.version, visited: true, step: null };
    },
    enabled: chosen !== null,
  });
  return (chosen === null ? found.data : picked.data) ?? null;
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
