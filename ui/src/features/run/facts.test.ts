import { describe, expect, it } from 'vitest';
import { factHref, holdersOf, quotaHref, quotasOf } from './facts';

describe('facts of an explanation', () => {
  it('lead to a quota whatever its name has in it', () => {
    expect(quotaHref('schema:order-check')).toBe('/quotas/schema/order-check');
    expect(quotaHref('key:order-check/ACME')).toBe('/quotas/key/order-check%2FACME');
    expect(quotaHref('tenant:a:b?c')).toBe('/quotas/tenant/a%3Ab%3Fc');
  });
  it('lead to workers and runs by the names that the engine gives them', () => {
    expect(factHref('lease_owner', 'host-1')).toBe('/workers');
    expect(factHref('retried_as', '0199')).toBe('/runs/0199');
    expect(factHref('quota', 'key:a/b')).toBe('/quotas/key/a%2Fb');
    expect(factHref('hold', 'pause')).toBeNull();
  });
  it('name who holds a quota and how full each is', () => {
    expect(holdersOf([{ execution_id: 'x', since: '2026-01-01T00:00:00Z' }, 'other', { since: 1 }])).toEqual([
      { execution_id: 'x', since: '2026-01-01T00:00:00Z' },
    ]);
    expect(quotasOf([{ name: 'key:a/b', limit: null, rate: '1/s', used: 1, waiting: 2, has_room: false }])).toEqual([
      { name: 'key:a/b', limit: null, used: 1, waiting: 2 },
    ]);
  });
});
