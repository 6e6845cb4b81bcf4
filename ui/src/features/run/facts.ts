/** Where the facts of an explanation lead to. */
import { path } from '../../api/client';
import { isObject, type Json } from '../../api/json';

/** `key:order-check/ACME`: the slash is part of the name. */
export function quotaHref(quota: string): string {
  const at = quota.indexOf(':');
  return path('/quotas', quota.slice(0, at), quota.slice(at + 1));
}

export function factHref(name: string, value: string): string | null {
  if (name === 'retry_of' || name === 'retried_as') return path('/runs', value);
  if (name === 'quota') return quotaHref(value);
  if (name === 'lease_owner') return '/workers';
  if (name === 'schema') return path('/schemas', value);
  return null;
}

export interface Holder {
  execution_id: string;
  since: string;
}

export function holdersOf(value: Json): Holder[] {
  return many(value).flatMap(({ execution_id, since }) =>
    typeof execution_id === 'string' && typeof since === 'string' ? [{ execution_id, since }] : [],
  );
}

export interface QuotaFact {
  name: string;
  limit: number | null;
  used: number;
  waiting: number;
}

export function quotasOf(value: Json): QuotaFact[] {
  return many(value).flatMap(({ name, limit, used, waiting }) =>
    typeof name === 'string' && typeof used === 'number' && typeof waiting === 'number'
      ? [{ name, limit: typeof limit === 'number' ? limit : null, used, waiting }]
      : [],
  );
}

const many = (value: Json) => (Array.isArray(value) ? value.filter(isObject) : []);
