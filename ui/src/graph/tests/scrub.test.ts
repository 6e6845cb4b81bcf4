import { describe, expect, it } from 'vitest';
import { buildGraph, type Graph } from '../model';
import { type Columns, microsOf, Scrub } from '../scrub';
import { random, randomFlow } from './random';
import { cost } from './timing';

/** A walk through a graph, as the server would tell it. */
function walk(graph: Graph, seed: number, count: number, from = 1): Columns {
  const pick = random(seed);
  const handles: string[] = [];
  const columns: Columns = {
    seq: from + count - 1,
    base_seq: 2,
    from,
    nodes: [...graph.nodes.map(({ id, type }) => ({ id, type })), { id: '$edit', type: '$edit' }],
    handles,
    origin: '2026-01-02T03:04:05.000007Z',
    node: [],
    status: [],
    statuses: ['success', 'failed', 'skipped'],
    handle: [],
    start: [],
    duration: [],
    tries: [],
  };
  let node = 0;
  for (let at = 0; at < count; at++) {
    const edits = pick(20) === 0;
    const leaving = graph.out[node] as number[];
    const edge = edits || leaving.length === 0 ? undefined : graph.edges[leaving[pick(leaving.length)] as number];
    if (edge !== undefined && !handles.includes(edge.exit)) handles.push(edge.exit);
    columns.node.push(edits ? graph.nodes.length : node);
    columns.status.push(pick(3));
    columns.handle.push(edge === undefined ? null : handles.indexOf(edge.exit));
    columns.start.push(at * 10);
    columns.duration.push(3);
    columns.tries.push(1 + pick(2));
    if (!edits) node = edge?.target ?? 0;
  }
  return columns;
}

/** The same, folded plainly. */
function fold(graph: Graph, columns: Columns, seq: number) {
  const nodes = graph.nodes.map(() => ({ visits: 0, step: 0, status: null as string | null }));
  const edges = graph.edges.map(() => 0);
  for (let at = 0; at < columns.node.length && columns.from + at <= seq; at++) {
    const node = columns.node[at] as number;
    if (node === graph.nodes.length) continue;
    const seen = nodes[node] as (typeof nodes)[number];
    nodes[node] = { visits: seen.visits + 1, step: columns.from + at, status: columns.statuses[columns.status[at] as number] as string };
    const handle = columns.handle[at];
    const taken =
      handle === null ? undefined : graph.edges.find((edge) => edge.source === node && edge.exit === columns.handles[handle as number]);
    if (taken !== undefined) edges[taken.index] = (edges[taken.index] as number) + 1;
  }
  return { nodes, edges };
}

const graphOf = (seed: number, count: number) => buildGraph(randomFlow(seed, count));

describe('scrub index', () => {
  it('says what a plain fold says, of every node and edge after every step', () => {
    for (let seed = 1; seed <= 25; seed++) {
      const graph = graphOf(seed, 12);
      const columns = walk(graph, seed, 90);
      const scrub = new Scrub(graph);
      expect(scrub.append(columns)).toBe(true);
      for (let seq = 0; seq <= 90; seq++) {
        const told = {
          nodes: graph.nodes.map((node) => scrub.nodeAt(node.index, seq)),
          edges: graph.edges.map((edge) => scrub.edgeAt(edge.index, seq)),
        };
        const folded = fold(graph, columns, seq);
        expect(told.nodes, `seed ${seed}, step ${seq}`).toEqual(folded.nodes);
        for (const edge of graph.edges) {
          const known = graph.edges.findIndex((other) => other.source === edge.source && other.exit === edge.exit) === edge.index;
          if (known) expect(told.edges[edge.index], `seed ${seed}, step ${seq}, edge ${edge.index}`).toBe(folded.edges[edge.index]);
        }
      }
    }
  });

  it('names all that changes between two moments', () => {
    const graph = graphOf(5, 12);
    const scrub = new Scrub(graph);
    scrub.append(walk(graph, 5, 60));
    const look = (seq: number) => ({
      nodes: graph.nodes.map((n) => scrub.nodeAt(n.index, seq)),
      edges: graph.edges.map((e) => scrub.edgeAt(e.index, seq)),
    });
    for (const [from, to] of [
      [0, 60],
      [10, 11],
      [30, 12],
      [59, 60],
      [60, 0],
    ] as const) {
      const { nodes, edges } = scrub.changed(from, to);
      const [before, after] = [look(from), look(to)];
      for (const node of graph.nodes) if (!nodes.has(node.index)) expect(after.nodes[node.index]).toEqual(before.nodes[node.index]);
      for (const edge of graph.edges) if (!edges.has(edge.index)) expect(after.edges[edge.index]).toBe(before.edges[edge.index]);
    }
  });

  it('grows by parts: doubles are left out, a gap is refused', () => {
    const graph = graphOf(9, 12);
    const whole = walk(graph, 9, 50);
    const part = (from: number, to: number): Columns => {
      const cut = <T>(list: T[]) => list.slice(from - 1, to);
      return {
        ...whole,
        from,
        node: cut(whole.node),
        status: cut(whole.status),
        handle: cut(whole.handle),
        start: cut(whole.start),
        duration: cut(whole.duration),
        tries: cut(whole.tries),
      };
    };
    const once = new Scrub(graph);
    once.append(whole);
    const parts = new Scrub(graph);
    expect(parts.append(part(1, 20))).toBe(true);
    expect(parts.append(part(30, 40))).toBe(false);
    expect(parts.append(part(15, 35))).toBe(true);
    expect(parts.append(part(36, 50))).toBe(true);
    expect(parts.steps).toEqual(once.steps);
    for (const node of graph.nodes) expect(parts.visitsOf(node.index)).toEqual(once.visitsOf(node.index));
  });

  it('finds visits and failures on either side', () => {
    const graph = buildGraph({
      nodes: [
        { id: 'a', type: 'start' },
        { id: 'b', type: 'log' },
      ],
      edges: [
        { source: 'a', target: 'b' },
        { source: 'b', target: 'b' },
      ],
    });
    const scrub = new Scrub(graph);
    const columns: Columns = {
      seq: 5,
      base_seq: 0,
      from: 1,
      nodes: [
        { id: 'a', type: 'start' },
        { id: 'b', type: 'log' },
      ],
      handles: ['success'],
      origin: '2026-01-01T00:00:00Z',
      node: [0, 1, 1, 1, 1],
      status: [0, 0, 1, 0, 1],
      statuses: ['success', 'failed', 'skipped'],
      handle: [0, 0, null, 0, null],
      start: [0, 1, 2, 3, 4],
      duration: [1, 1, 1, 1, 1],
      tries: [1, 1, 1, 1, 1],
    };
    scrub.append(columns);
    expect(scrub.visitBeside(1, 3, true)).toBe(4);
    expect(scrub.visitBeside(1, 3, false)).toBe(2);
    expect(scrub.visitBeside(1, 2, false)).toBe(0);
    expect([scrub.failureBeside(0, true), scrub.failureBeside(3, true), scrub.failureBeside(5, true)]).toEqual([3, 5, 0]);
    expect(scrub.edgeAt(1, 3), 'an unnamed exit is found by where it went').toBe(2);
    expect([scrub.nodeOf(3), scrub.nodeAfter(3), scrub.nodeAfter(5)]).toEqual([1, 1, -1]);
  });

  it('reads times to the microsecond', () => {
    expect(microsOf('2026-01-02T03:04:05.000007Z')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5) * 1000 + 7);
    expect(microsOf('2026-01-02T03:04:05.5+01:00')).toBe(Date.UTC(2026, 0, 2, 2, 4, 5) * 1000 + 500_000);
  });

  it('answers for 2,000 nodes after any of 10,000 steps without a fold', { timeout: 60_000 }, () => {
    const graph = graphOf(2, 2000);
    const scrub = new Scrub(graph);
    scrub.append(walk(graph, 2, 10_000));
    const look = (from: number, to: number) =>
      cost(12, () => {
        for (let at = 0; at < 50; at++) for (const node of graph.nodes) scrub.nodeAt(node.index, from + ((at * 37) % (to - from)));
      });
    // A fold of the last steps would take a hundred times as long as one of the first.
    const [first, last] = [look(1, 100), look(9_900, 10_000)];
    expect(last / first).toBeLessThanOrEqual(8);
  });
});
