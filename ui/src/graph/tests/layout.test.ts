import { describe, expect, it } from 'vitest';
import { type Layout, layoutGraph } from '../layout';
import { buildGraph, type GraphDefinition } from '../model';
import { chain, randomFlow } from './random';
import { cost } from './timing';

function overlaps({ positions, sizes }: Layout): number {
  const boxes = positions.map((point, at) => ({ ...point, ...(sizes[at] as { width: number; height: number }) })).sort((a, b) => a.x - b.x);
  let found = 0;
  for (let a = 0; a < boxes.length; a++) {
    const left = boxes[a] as (typeof boxes)[number];
    for (let b = a + 1; b < boxes.length; b++) {
      const right = boxes[b] as (typeof boxes)[number];
      if (right.x >= left.x + left.width) break;
      if (left.y < right.y + right.height && right.y < left.y + left.height) found++;
    }
  }
  return found;
}

const layout = (definition: GraphDefinition) => layoutGraph(buildGraph(definition));

describe('layout', () => {
  it('never lets two cards overlap', () => {
    for (let seed = 1; seed <= 200; seed++) expect(overlaps(layout(randomFlow(seed, 5 + (seed % 60)))), `seed ${seed}`).toBe(0);
  });

  it('gives the same places each time', () => {
    for (let seed = 1; seed <= 20; seed++) expect(layout(randomFlow(seed, 80))).toEqual(layout(randomFlow(seed, 80)));
  });

  it('places 2,000 nodes without overlaps', { timeout: 60_000 }, () => {
    for (const definition of [chain(2000), randomFlow(3, 2000), randomFlow(4, 2000)]) {
      const found = layout(definition);
      expect(overlaps(found)).toBe(0);
      expect(found.positions).toHaveLength(2000);
    }
  });

  it('takes at most 8 times as long for 2,000 nodes as for 500', { timeout: 60_000 }, () => {
    for (const [name, make] of Object.entries({ chain, random: (count: number) => randomFlow(3, count) })) {
      const time = (count: number, tries: number) => {
        const graph = buildGraph(make(count));
        return cost(tries, () => layoutGraph(graph));
      };
      const small = time(500, 20);
      const large = time(2000, 12);
      expect(large / small, name).toBeLessThanOrEqual(8);
    }
  });

  it('leads every edge forward, but those that close a loop', () => {
    const graph = buildGraph(randomFlow(7, 300));
    const { positions, back } = layoutGraph(graph);
    for (const edge of graph.edges) {
      const [from, to] = [positions[edge.source]?.x as number, positions[edge.target]?.x as number];
      if (back[edge.index]) expect(to).toBeLessThanOrEqual(from);
      else expect(to).toBeGreaterThan(from);
    }
  });

  it('draws a chain as one straight line, and a loop of a node on itself', () => {
    const straight = layout(chain(12));
    expect(new Set(straight.positions.map((point) => point.y)).size).toBe(1);
    const self = layout({ nodes: [{ id: 'a', type: 'start' }], edges: [{ source: 'a', target: 'a', sourceHandle: 'error' }] });
    expect(self.back).toEqual([true]);
    expect(self.routes[0]?.[0]?.y).toBeGreaterThan(52);
  });

  it('places `true` above `false`', () => {
    const nodes = ['s', 'c', 'no', 'yes'].map((id) => ({ id, type: id === 's' ? 'start' : 'log' }));
    const edges = [
      { source: 's', target: 'c' },
      { source: 'c', target: 'no', sourceHandle: 'false' },
      { source: 'c', target: 'yes', sourceHandle: 'true' },
    ];
    const { positions } = layout({ nodes, edges });
    expect(positions[3]?.y as number).toBeLessThan(positions[2]?.y as number);
  });

  it('takes an empty graph, nodes without edges and edges to nowhere', () => {
    expect(layout({ nodes: [] })).toMatchObject({ width: 0, height: 0 });
    expect(
      overlaps(
        layout({
          nodes: [
            { id: 'a', type: 'log' },
            { id: 'b', type: 'log' },
          ],
          edges: [{ source: 'a', target: 'gone' }],
        }),
      ),
    ).toBe(0);
  });
});
