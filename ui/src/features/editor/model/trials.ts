/** What a server can do for tests. One without trial runs (A19) makes real ones, up to a node with the debugger; then there are no pins. */
import { useQuery } from '@tanstack/react-query';
import { api, path } from '../../../api/client';
import type { Json } from '../../../api/json';
import type { Execution } from '../../../api/model';

const TRIAL_NODE = '/api/schemas/{id}/trial-node';

export function useTrials(): boolean {
  const query = useQuery({
    queryKey: ['openapi', 'trials'],
    queryFn: async ({ signal }) => {
      const document = await api.get<{ paths: Record<string, unknown> }>('/api/openapi.json', undefined, signal);
      return Object.hasOwn(document.paths, TRIAL_NODE);
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
  return query.data ?? false;
}

export interface TestStart {
  schema: string;
  version: number;
  input: Json;
  mode: 'run' | 'step' | 'until';
  node: string | null;
  pins: boolean;
}

export async function startTest(trials: boolean, { schema, version, input, mode, node, pins }: TestStart): Promise<Execution> {
  const body = { schema, version, input, debug_mode: mode === 'step' };
  const until = mode === 'until' ? node : null;
  if (trials) {
    const trial = { ...(pins ? { pins: true } : {}), ...(until === null ? {} : { stop_after: until }) };
    return api.post<Execution>('/api/executions', { ...body, trial });
  }
  if (until === null) return api.post<Execution>('/api/executions', body);
  const run = await api.post<Execution>('/api/executions', { ...body, debug_mode: true });
  await standsStill(run.id);
  return api.post<Execution>(path('/api/executions', run.id, 'continue'), { mode: { until: [until] } });
}

/** In the debugger it stands before its first node as soon as a worker has taken it. */
async function standsStill(id: string): Promise<void> {
  for (let tries = 0; tries < 50; tries++) {
    const run = await api.get<Execution>(path('/api/executions', id));
    if (run.status === 'waiting_debug' || run.finished_at !== null) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
