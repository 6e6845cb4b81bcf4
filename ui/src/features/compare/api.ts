import { queryOptions } from '@tanstack/react-query';
import { api, path } from '../../api/client';
import { asApiError } from '../../api/error';
import type { Change, Definition, Execution, Page, Status, StepStatus } from '../../api/model';
import type { Positions } from '../../canvas/useLayout';

export interface ComparedRun {
  id: string;
  schema: string;
  version: number;
  status: Status;
  created_at: string;
  finished_at: string | null;
  gone?: { up_to: number; execution_id: string; message: string };
}

interface Side {
  seq: number;
  status: StepStatus;
  duration_ms: number;
  inherited?: boolean;
}

export interface Pair {
  node_id: string;
  visit: number;
  left: Side | null;
  right: Side | null;
  same: boolean;
  difference: Change[];
}

export interface Comparison {
  same_path: boolean;
  first_divergence: {
    index: number;
    what: string;
    left: { seq: number; node_id: string } | null;
    right: { seq: number; node_id: string } | null;
  } | null;
  steps: Pair[];
  duration_ms: { left: number; right: number };
  left: ComparedRun;
  right: ComparedRun;
}

const of = (id: string, ...parts: (string | number)[]) => path('/api/executions', id, ...parts);

export const compareQueries = {
  /** Without `other`, the server takes the last good run. */
  outline: (id: string, other: string) =>
    queryOptions({
      queryKey: ['run', id, 'diff', other],
      queryFn: ({ signal }) => api.get<Comparison>(of(id, 'diff'), { with: other, view: 'outline' }, signal),
      retry: (count, thrown) => count < 3 && asApiError(thrown).offline,
    }),
  pair: (id: string, other: string, node: string, visit: number) =>
    queryOptions({
      queryKey: ['run', id, 'diff', other, node, visit],
      queryFn: ({ signal }) => api.get<Pair>(of(id, 'diff', 'pair'), { with: other, node, visit }, signal),
    }),
  definition: (id: string) =>
    queryOptions({
      queryKey: ['run', id, 'definition'],
      queryFn: ({ signal }) =>
        api.get<{ schema_id: string; schema: string; definition: Definition }>(of(id, 'definition'), undefined, signal),
      staleTime: Number.POSITIVE_INFINITY,
    }),
  positions: (schema: string) =>
    queryOptions({
      queryKey: ['schema', schema, 'layout'],
      queryFn: ({ signal }) => api.get<{ positions: Positions }>(path('/api/schemas', schema, 'layout'), undefined, signal),
      enabled: schema !== '',
      staleTime: 60_000,
      retry: false,
    }),
  /** What a run was started with. */
  initial: (id: string) =>
    queryOptions({
      queryKey: ['run', id, 'initial'],
      queryFn: ({ signal }) => api.get<Execution>(of(id), { include: 'initial' }, signal),
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 60_000,
    }),
  /** Others of the same schema, for the picker. */
  candidates: (schema: string) =>
    queryOptions({
      queryKey: ['runs', { schema, limit: 30, view: 'brief' }],
      queryFn: ({ signal }) => api.get<Page<Execution>>('/api/executions', { schema, limit: 30, view: 'brief' }, signal),
      enabled: schema !== '',
    }),
};
