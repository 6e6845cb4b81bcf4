import { beforeEach, describe, expect, it } from 'vitest';
import { readFilters, removeFilter, saveFilter, useSavedFilters } from './filters';

const kept = () => readFilters(localStorage.getItem('pawl.filters'));

describe('saved filters', () => {
  beforeEach(() => localStorage.clear());

  it('are kept by name, and the same name means the newer one', () => {
    saveFilter({ name: 'b', search: '?status=failed' });
    saveFilter({ name: 'a', search: '?schema=x' });
    saveFilter({ name: 'b', search: '?status=stopped' });
    expect(kept()).toEqual([
      { name: 'a', search: '?schema=x' },
      { name: 'b', search: '?status=stopped' },
    ]);
    expect(useSavedFilters.getState().list).toEqual(kept());
    removeFilter('a');
    expect(kept().map(({ name }) => name)).toEqual(['b']);
  });
  it('of another tab are not lost', () => {
    saveFilter({ name: 'mine', search: '?q=1' });
    localStorage.setItem('pawl.filters', JSON.stringify([...kept(), { name: 'theirs', search: '?q=2' }]));
    saveFilter({ name: 'new', search: '?q=3' });
    expect(kept().map(({ name }) => name)).toEqual(['mine', 'new', 'theirs']);
  });
  it('are only what is a filter', () => {
    expect(readFilters('{')).toEqual([]);
    expect(readFilters('{"a":1}')).toEqual([]);
    expect(
      readFilters('[null,{"name":"x","search":"https://evil.example"},{"name":"","search":"?"},{"name":"y","search":"?q=1","more":1}]'),
    ).toEqual([{ name: 'y', search: '?q=1' }]);
  });
});
