/** A run on the canvas of the editor: the last status of every node, its visits, and where the run stands. */
import type { Execution } from '../../../api/model';
import { hasEnded } from '../../../api/queries';
import { type Looks, PLAIN_EDGE, PLAIN_NODE } from '../../../canvas/looks';
import type { Graph, GraphEdge } from '../../../graph/model';
import type { Scrub, StepLine } from '../../../graph/scrub';
import { formatDuration } from '../../../ui/format';
import type { BadgeOf } from './EditCanvas';

/** The run is of a version; the canvas may have been changed since, so both are brought together by id. */
export function showRun([graph, looks, badge]: [Graph, Looks, BadgeOf], run: Execution, scrub: Scrub) {
  for (const node of graph.nodes) {
    const { visits, step, status } = scrub.nodeAt(scrub.graph.byId.get(node.id) ?? -1, scrub.last);
    const here = !hasEnded(run) && run.current_node_id === node.id;
    looks.setNode(node.index, {
      ...PLAIN_NODE,
      state: here ? run.status : status,
      visits,
      detail: step === 0 || here ? '' : formatDuration((scrub.step(step) as StepLine).duration / 1000),
      until: here ? (run.wait?.wake_at ?? null) : null,
      ring: here ? 'at' : null,
      faint: step === 0 && !here,
      ...badge(node.definition),
    });
  }
  const own = new Map(scrub.graph.edges.map((edge) => [keyOf(scrub.graph, edge), edge.index]));
  for (const edge of graph.edges) {
    const walked = own.get(keyOf(graph, edge));
    looks.setEdge(edge.index, { ...PLAIN_EDGE, count: walked === undefined ? 0 : scrub.edgeAt(walked, scrub.last) });
  }
}

const keyOf = (graph: Graph, { source, exit, target }: GraphEdge) =>
  JSON.stringify([graph.nodes[source]?.id, exit, graph.nodes[target]?.id]);
