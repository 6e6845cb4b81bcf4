import { describe, expect, it } from 'vitest';
import { buildGraph } from '../model';
import { neighbour, outlineOf } from '../outline';
import { timeScale } from '../scale';
import { chain, randomFlow } from './random';

describe('outline', () => {
  it('has every node once, and a line for each way to it', () => {
    for (let seed = 1; seed <= 30; seed++) {
      const graph = buildGraph(randomFlow(seed, 40));
      const lines = outlineOf(graph);
      const own = lines.filter((line) => line.kind === 'node').map((line) => line.node);
      expect(new Set(own).size).toBe(40);
      expect(own).toHaveLength(40);
      expect(lines.filter((line) => line.edge >= 0)).toHaveLength(graph.edges.length);
    }
  });

  it('says where a loop closes', () => {
    const nodes = ['a', 'b', 'c'].map((id, at) => ({ id, type: at === 0 ? 'start' : 'log' }));
    const graph = buildGraph({
      nodes,
      edges: [
        { source: 'a', target: 'b' },
        { source: 'b', target: 'c' },
        { source: 'c', target: 'b' },
      ],
    });
    expect(outlineOf(graph).map((line) => [line.node, line.kind])).toEqual([
      [0, 'node'],
      [1, 'node'],
      [2, 'node'],
      [1, 'loop'],
    ]);
  });

  it('does not overflow on long chains, and arrows walk along them', () => {
    const graph = buildGraph(chain(5000));
    expect(outlineOf(graph)).toHaveLength(5000);
    expect(neighbour(graph, 7, 'next')).toBe(8);
    expect(neighbour(graph, 7, 'previous')).toBe(6);
    expect(neighbour(graph, 4999, 'next')).toBe(4999);
    expect(neighbour(graph, 7, 'down')).toBe(7);
  });
});

describe('time scale', () => {
  it('folds long gaps and keeps the order', () => {
    const scale = timeScale([
      { start: 0, end: 100 },
      { start: 110, end: 200 },
      { start: 7_200_000_200, end: 7_200_000_300 },
    ]);
    expect(scale.folds).toHaveLength(1);
    expect(scale.folds[0]?.micros).toBe(7_200_000_000);
    const places = [0, 50, 100, 150, 200, 3_000_000_000, 7_200_000_200, 7_200_000_300].map((at) => scale.at(at));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    expect(places[0]).toBe(0);
    expect(places.at(-1)).toBeCloseTo(1);
    expect(scale.at(200) - scale.at(0)).toBeGreaterThan(0.5);
  });

  it('takes nothing, a moment without length and many gaps', () => {
    expect(timeScale([]).at(5)).toBe(0);
    expect(timeScale([{ start: 7, end: 7 }]).at(7)).toBe(0);
    const many = timeScale(Array.from({ length: 15 }, (_, at) => ({ start: at * 1_000_000, end: at * 1_000_000 + 1 })));
    expect(many.at(14_000_001)).toBeCloseTo(1);
    expect(many.folds.reduce((sum, fold) => sum + fold.to - fold.from, 0)).toBeLessThanOrEqual(0.41);
  });
});
