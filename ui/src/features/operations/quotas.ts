import { path } from '../../api/client';

export const KINDS = ['schema', 'tenant', 'key'] as const;
export type Kind = (typeof KINDS)[number];

export interface Quota {
  kind: Kind;
  name: string;
  limit: number | null;
  rate: string | null;
  used: number;
  waiting: number;
  source: 'api' | 'config' | 'settings';
  updated_at: string;
  holders?: { execution_id: string; since: string }[];
}

export function quotaCall(kind: string, name: string): string {
  return path('/api/quotas', kind, name);
}

/** The page of a quota; the slash in the name of a key is part of the name. */
export function quotaPage(quota: Pick<Quota, 'kind' | 'name'>): string {
  return path('/quotas', quota.kind, quota.name);
}

/** The runs that wait for it, as a filter of the list of runs. */
export function waitingRuns({ kind, name }: Pick<Quota, 'kind' | 'name'>): string {
  const by = kind === 'tenant' ? 'tenant' : 'schema';
  const value = kind === 'key' ? (name.split('/')[0] ?? name) : name;
  return `/runs?status=pending&${by}=${encodeURIComponent(value)}`;
}

/** The number as a limit, or null. */
export function readLimit(text: string): number | null {
  const trimmed = text.trim();
  const value = Number(trimmed);
  return /^\d{1,10}$/.test(trimmed) && value <= 4_294_967_295 ? value : null;
}
