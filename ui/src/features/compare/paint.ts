/** Both runs on one graph: walked by both, by the left one, by the right one; the first difference has a ring. */
import { type Looks, PLAIN_NODE } from '../../canvas/looks';
import { edgeTaken, type Graph } from '../../graph/model';
import type { Comparison, Pair } from './api';

type Side = 'left' | 'right' | 'both' | null;

const sideOf = (left: number, right: number): Side => (left > 0 && right > 0 ? 'both' : left > 0 ? 'left' : right > 0 ? 'right' : null);

export function paintBoth(looks: Looks, graph: Graph, comparison: Comparison, letters: { left: string; right: string }) {
  const first = comparison.first_divergence;
  const ringed = first?.left?.node_id ?? first?.right?.node_id;
  const visits = graph.nodes.map(() => ({ left: 0, right: 0, failed: false, differ: 0 }));
  for (const pair of comparison.steps) {
    const seen = visits[graph.byId.get(pair.node_id) ?? -1];
    if (seen === undefined) continue;
    if (pair.left !== null) seen.left++;
    if (pair.right !== null) seen.right++;
    seen.failed ||= pair.left?.status === 'failed' || pair.right?.status === 'failed';
    if (!pair.same) seen.differ++;
  }
  visits.forEach(({ left, right, failed, differ }, index) => {
    const side = sideOf(left, right);
    const badge = side === 'left' || side === 'right' ? letters[side] : differ > 0 ? '≠' : '';
    const look = {
      ...PLAIN_NODE,
      side,
      faint: side === null,
      visits: Math.max(left, right),
      badge,
      state: failed ? ('failed' as const) : null,
    };
    looks.setNode(index, { ...look, ring: graph.nodes[index]?.id === ringed ? 'first' : null });
  });
  paintEdges(looks, graph, comparison.steps);
}

function paintEdges(looks: Looks, graph: Graph, pairs: readonly Pair[]) {
  const walks = graph.edges.map(() => ({ left: 0, right: 0 }));
  for (const side of ['left', 'right'] as const) {
    const path = pairs.filter((pair) => pair[side] !== null).sort((a, b) => (a[side]?.seq ?? 0) - (b[side]?.seq ?? 0));
    for (let at = 1; at < path.length; at++) {
      const source = graph.byId.get(path[at - 1]?.node_id ?? '') ?? -1;
      const target = graph.byId.get(path[at]?.node_id ?? '') ?? -1;
      const walk = source < 0 || target < 0 ? undefined : walks[edgeTaken(graph, source, null, target)];
      if (walk !== undefined) walk[side]++;
    }
  }
  for (const [index, { left, right }] of walks.entries())
    looks.setEdge(index, { count: Math.max(left, right), now: false, side: sideOf(left, right) });
}
