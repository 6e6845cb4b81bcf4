import { describe, expect, it } from 'vitest';
import { runsSearch } from '../features/runs/search';
import { ROUTES } from '../routes';
import { codec, param, parseSearch, writeSearch } from './search';

const some = codec({
  status: param.choices(['failed', 'running']),
  view: param.choice(['canvas', 'outline'], 'canvas'),
  step: param.whole(),
  q: param.text(),
  label: param.list(),
  fork: param.flag(),
  since: param.since(),
});

describe('search parameters', () => {
  it('come back as they were written', () => {
    const value = {
      status: ['failed', 'running'],
      view: 'outline',
      step: 17,
      q: 'a & b=c?#ä',
      label: ['team:a', 'x:1,2'],
      fork: true,
      since: '24h',
    } as const;
    const text = some.write(value);
    expect(some.read(parseSearch(text))).toEqual({ value, bad: [] });
  });
  it('say nothing that is the standard', () => {
    expect(some.write({ status: [], view: 'canvas', step: undefined, q: '', label: [], fork: false, since: '' })).toBe('');
    expect(some.write({})).toBe('');
  });
  it('are readable: commas and colons stay', () => {
    expect(some.write({ status: ['failed', 'running'], since: '2026-11-18T10:00:00Z' })).toBe(
      '?status=failed,running&since=2026-11-18T10:00:00Z',
    );
  });
  it('name unknown parameters and bad values, and fall back', () => {
    const { value, bad } = some.read(parseSearch('?view=3d&step=-1&status=failed,gone&x=1&__proto__=2&since=soon'));
    expect(bad.sort()).toEqual(['__proto__', 'since', 'status', 'step', 'view', 'x']);
    expect(value).toMatchObject({ view: 'canvas', step: undefined, status: [], since: '' });
  });
  it('keep relative times relative', () => expect(some.write(some.read(parseSearch('?since=7d')).value)).toBe('?since=7d'));
  it('of the router survive the way through its own codec', () => {
    const text = '?label=a:1&label=b:2&q=%D0%B4%D0%B0&status=failed';
    expect(writeSearch(parseSearch(text))).toBe(text);
  });
  it('of every screen: the empty address has no bad part and writes nothing', () => {
    for (const route of ROUTES) {
      const { value, bad } = route.search.read({});
      expect([route.path, bad, route.search.write(value as never)]).toEqual([route.path, [], '']);
    }
  });
  it('of the runs: all filters at once', () => {
    const text =
      '?status=failed,failed_stuck&schema=order-check&since=24h&q=x&tenant=acme&label=team:a&by=key:ci&code=HTTP_STATUS&node=fetch&unresolved=1&sel=abc&start=1&bulk=retry';
    expect(runsSearch.write(runsSearch.read(parseSearch(text)).value)).toBe(text);
  });
});
