import { describe, expect, it } from 'vitest';
import type { Execution } from '../../api/model';
import { Looks } from '../../canvas/looks';
import { buildGraph } from '../../graph/model';
import { type Columns, Scrub } from '../../graph/scrub';
import { paint, type Shown } from './moment';
import { marksOf, placeOf, scaleOf, seqAt, type Track } from './track';

const nodes = ['start', 'ask', 'enough', 'pause', 'done'].map((id) => ({
  id,
  type: id === 'pause' ? 'sleep' : id === 'start' ? 'start' : 'log',
}));
const graph = buildGraph({
  nodes,
  edges: [
    { source: 'start', target: 'ask' },
    { source: 'ask', target: 'enough' },
    { source: 'enough', target: 'done', sourceHandle: 'true' },
    { source: 'enough', target: 'pause', sourceHandle: 'false' },
    { source: 'pause', target: 'ask' },
  ],
});

/** start, then the loop three times, with an hour's sleep in each; the second `ask` failed. */
function columns(): Columns {
  const node = [0, 1, 2, 3, 1, 2, 3, 1, 2];
  const handle = [0, 0, 1, 0, 0, 1, 0, 0, 1];
  const duration = node.map((one) => (one === 3 ? 3_600_000_000 : 1000));
  const start = duration.map((_, at) => duration.slice(0, at).reduce((sum, one) => sum + one, 0));
  const status = node.map((_, at) => (at === 4 ? 1 : 0));
  return {
    seq: 9,
    base_seq: 2,
    from: 1,
    nodes,
    handles: ['success', 'false'],
    origin: '2026-01-01T00:00:00Z',
    node,
    status,
    statuses: ['success', 'failed', 'skipped'],
    handle,
    start,
    duration,
    tries: node.map((_, at) => (at === 7 ? 3 : 1)),
  };
}

const scrub = new Scrub(graph);
scrub.append(columns());
const run = {
  status: 'sleeping',
  current_node_id: 'pause',
  attempt: 1,
  wait: { kind: 'sleep', name: null, wake_at: '2026-01-01T04:00:00Z' },
} as Execution;
const shown = (seq: number, other: Partial<Execution> = {}): Shown => ({
  scrub,
  run: { ...run, ...other },
  seq,
  breakpoints: new Set(['done']),
});

describe('painting a moment', () => {
  it('says where the moment stands, what comes next, and what was not reached', () => {
    const looks = new Looks();
    paint(looks, shown(5), null);
    expect(looks.node(1)).toMatchObject({ state: 'failed', visits: 2, ring: 'at' });
    expect(looks.node(2)).toMatchObject({ state: 'success', visits: 1, ring: 'next' });
    expect(looks.node(4)).toMatchObject({ state: null, faint: true, breakpoint: true });
    expect([0, 1, 2, 3, 4].map((edge) => looks.edge(edge).count)).toEqual([1, 2, 0, 1, 1]);
    expect(looks.edge(1).now).toBe(true);
  });

  it('shows the position only at the end of a run that goes on', () => {
    const looks = new Looks();
    paint(looks, shown(9), null);
    expect(looks.node(3)).toMatchObject({ state: 'sleeping', ring: 'at', until: '2026-01-01T04:00:00Z', visits: 3 });
    paint(looks, shown(8), 9);
    expect(looks.node(3)).toMatchObject({ state: 'success', until: null, ring: null, visits: 2 });
    paint(looks, shown(9, { status: 'completed' }), null);
    expect(looks.node(2)).toMatchObject({ ring: 'at' });
    expect(looks.node(3).ring).toBeNull();
  });

  it('after any way of moves is what it is when painted afresh', () => {
    const moved = new Looks();
    let before: number | null = null;
    for (const seq of [9, 3, 4, 0, 7, 9, 8, 1, 0, 9, 5]) {
      paint(moved, shown(seq), before);
      before = seq;
      const fresh = new Looks();
      paint(fresh, shown(seq), null);
      for (const node of graph.nodes) expect(moved.node(node.index), `node ${node.id} after step ${seq}`).toEqual(fresh.node(node.index));
      for (const edge of graph.edges)
        expect(moved.edge(edge.index), `edge ${edge.index} after step ${seq}`).toEqual(fresh.edge(edge.index));
    }
  });

  it('tells only the cards that look different', () => {
    const looks = new Looks();
    paint(looks, shown(5), null);
    const told: number[] = [];
    for (const node of graph.nodes) looks.onNode(node.index, () => told.push(node.index));
    paint(looks, shown(6), 5);
    expect(told.sort()).toEqual([1, 2, 3]);
  });
});

describe('the line of ticks', () => {
  const byStep: Track = { scrub, width: 900, scale: null };
  const byTime: Track = { scrub, width: 900, scale: scaleOf(scrub) };

  it('leads from a place to a moment and back', () => {
    for (const track of [byStep, byTime])
      for (let seq = 0; seq <= 9; seq++)
        expect(Math.abs(placeOf(track, seqAt(track, placeOf(track, seq))) - placeOf(track, seq))).toBeLessThan(1);
    expect([seqAt(byStep, -50), seqAt(byStep, 5000)]).toEqual([0, 9]);
  });

  it('folds what a sleep takes', () => {
    expect(byTime.scale?.folds.map((fold) => Math.round(fold.micros / 3_600_000_000))).toEqual([1, 1]);
  });

  it('marks failures, tries and where the run was made', () => {
    expect(new Set(marksOf(byStep).map((mark) => mark.kind))).toEqual(new Set(['failed', 'retried', 'fork']));
  });
});
