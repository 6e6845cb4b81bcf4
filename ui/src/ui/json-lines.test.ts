import { describe, expect, it } from 'vitest';
import { expressionPath, jsonLines, marksOf, SLICE } from './json-lines';

describe('the lines of a JSON tree', () => {
  it('are those of what is open', () => {
    const lines = jsonLines({ a: { b: [1, 2] }, c: 'x' }, new Map([['/a/b', false]]), new Map());
    expect(lines.map((line) => line.pointer)).toEqual(['', '/a', '/a/b', '/c']);
    expect(lines.find((line) => line.pointer === '/a/b')).toMatchObject({ open: false, count: 2 });
  });
  it('of a long list are a slice and the rest of it', () => {
    const lines = jsonLines(
      Array.from({ length: SLICE + 5 }, (_, at) => at),
      new Map(),
      new Map(),
    );
    expect(lines).toHaveLength(SLICE + 2);
    expect(lines.at(-1)?.more).toBe(5);
  });
  it('escape names in pointers, and paths are what expressions say', () => {
    expect(jsonLines({ 'a/b~': 1 }, new Map(), new Map())[1]?.pointer).toBe('/a~1b~0');
    expect(expressionPath('/steps/fetch/output/items/0/a b')).toBe('steps.fetch.output.items[0]["a b"]');
  });
  it('mark changes and what has one inside', () => {
    const marks = marksOf([{ op: 'changed', path: '/variables/total', before: 3, after: 5 }]);
    expect([...marks]).toEqual([
      ['/variables/total', 'changed'],
      ['/variables', 'inside'],
      ['', 'inside'],
    ]);
  });
});
