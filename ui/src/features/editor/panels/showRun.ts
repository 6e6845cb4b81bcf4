/** A run on the canvas of the editor: the last status of every node, its visits, and where the run stands. */
import type { Execution, Step } from '../../../api/model';
import { hasEnded } from '../../../api/queries';
import { type Looks, PLAIN_EDGE, PLAIN_NODE } from '../../../canvas/looks';
import { edgeTaken, type Graph } from '../../../graph/model';
import { formatDuration } from '../../../ui/format';

export function showRun(graph: Graph, looks: Looks, run: Execution, steps: Step[]) {
  const last = new Map<string, Step>();
  const visits = new Map<string, number>();
  const walked = new Map<number, number>();
  for (const step of steps) {
    last.set(step.node_id, step);
    visits.set(step.node_id, (visits.get(step.node_id) ?? 0) + 1);
    const source = graph.byId.get(step.node_id);
    const target = step.next_node_id === null ? undefined : graph.byId.get(step.next_node_id);
    if (source === undefined || target === undefined) continue;
    const edge = edgeTaken(graph, source, step.handle ?? null, target);
    if (edge >= 0) walked.set(edge, (walked.get(edge) ?? 0) + 1);
  }
  for (const node of graph.nodes) {
    const step = last.get(node.id);
    const here = !hasEnded(run) && run.current_node_id === node.id;
    looks.setNode(node.index, {
      ...PLAIN_NODE,
      state: here ? run.status : (step?.status ?? null),
      visits: visits.get(node.id) ?? 0,
      detail: step === undefined ? '' : formatDuration(step.duration_ms),
      until: here ? (run.wait?.wake_at ?? null) : null,
      ring: here ? 'at' : null,
      faint: step === undefined && !here,
    });
  }
  for (const edge of graph.edges) looks.setEdge(edge.index, { ...PLAIN_EDGE, count: walked.get(edge.index) ?? 0 });
}
