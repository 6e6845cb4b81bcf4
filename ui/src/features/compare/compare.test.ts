import { describe, expect, it } from 'vitest';
import { read } from '../../api/json';
import type { Definition } from '../../api/model';
import { buildGraph } from '../../graph/model';
import { placesOf, unionOf } from './union';
import { changesOf } from './values';

const of = (nodes: string[], edges: [string, string][]): Definition => ({
  name: 'x',
  nodes: nodes.map((id) => ({ id, type: id === 'a' ? 'start' : 'log' })),
  edges: edges.map(([source, target]) => ({ source, target })),
});
const left = of(
  ['a', 'b', 'gone'],
  [
    ['a', 'b'],
    ['b', 'gone'],
  ],
);
const right = of(
  ['a', 'b', 'new'],
  [
    ['a', 'b'],
    ['b', 'new'],
  ],
);

describe('the picture of two versions', () => {
  it('has the nodes and the edges of both, each once', () => {
    const both = unionOf(left, right);
    expect(both.nodes.map((node) => node.id)).toEqual(['a', 'b', 'gone', 'new']);
    expect(both.edges?.map((edge) => `${edge.source}-${edge.target}`)).toEqual(['a-b', 'b-gone', 'b-new']);
    expect(unionOf(left, left)).toEqual(left);
  });
  it('keeps saved places; a node without one stands below, on nobody', () => {
    const graph = buildGraph(
      unionOf(
        left,
        of(
          ['a', 'b', 'new', 'more'],
          [
            ['b', 'new'],
            ['b', 'more'],
          ],
        ),
      ),
    );
    const saved = { a: { x: 0, y: 10 }, b: { x: 300, y: 200 }, gone: { x: 600, y: 0 } };
    const places = placesOf(graph, saved);
    expect(places).toMatchObject(saved);
    expect(places?.new).toEqual({ x: 560, y: 310 });
    expect(places?.more).toEqual({ x: 820, y: 310 });
    expect(placesOf(graph, {})).toBeNull();
    expect(placesOf(graph, undefined)).toBeNull();
  });
});

describe('what two runs were started with', () => {
  it('differs by name and by place, in exact numbers', () => {
    expect(changesOf({ a: 1, b: [1, 2], c: 0 }, { a: 1, b: [1, 3, 4], d: null })).toEqual([
      { op: 'changed', path: '/b/1', before: 2, after: 3 },
      { op: 'added', path: '/b/2', after: 4 },
      { op: 'removed', path: '/c', before: 0 },
      { op: 'added', path: '/d', after: null },
    ]);
    expect(changesOf(null, { a: 1 })).toEqual([{ op: 'changed', path: '', before: null, after: { a: 1 } }]);
    expect(changesOf(read('9007199254740993'), read('9007199254740992'))).toHaveLength(1);
    expect(changesOf({ 'a/b': {} }, { 'a/b': [] })[0]?.path).toBe('/a~1b');
  });
});
