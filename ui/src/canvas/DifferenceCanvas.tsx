import { useEffect, useMemo } from 'react';
import type { DefinitionDifference } from '../graph/difference';
import type { SchemaDefinition } from '../graph/document';
import { buildGraph } from '../graph/model';
import { Canvas } from './Canvas';
import { Looks, PLAIN_EDGE, PLAIN_NODE } from './looks';
import { useLayout } from './useLayout';

const SIGNS = { added: '+', removed: '−', changed: '~' };

export interface DifferenceCanvasProps {
  before: SchemaDefinition;
  after: SchemaDefinition;
  difference: DefinitionDifference;
  label: string;
  chosen: string | null;
  onChoose: (id: string | null) => void;
}

/** Two versions on one canvas: what is gone stands beside what is there. Cards that only moved are no change. */
export function DifferenceCanvas({ before, after, difference, label, chosen, onChoose }: DifferenceCanvasProps) {
  const graph = useMemo(() => buildGraph(union(before, after, difference)), [before, after, difference]);
  const layout = useLayout(graph);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another graph, other looks: they go by place
  const looks = useMemo(() => new Looks(), [graph]);
  useEffect(() => {
    const kinds = new Map(difference.nodes.map((change) => [change.id, change.kind]));
    for (const node of graph.nodes) {
      const kind = kinds.get(node.id);
      const side = kind === 'removed' ? 'left' : kind === undefined ? null : 'right';
      looks.setNode(node.index, { ...PLAIN_NODE, side, badge: kind === undefined ? '' : SIGNS[kind], faint: kind === undefined });
    }
    const gone = new Set(difference.edges.filter((change) => change.kind !== 'added').map((change) => keyOf(change.before)));
    const made = new Set(difference.edges.filter((change) => change.kind !== 'removed').map((change) => keyOf(change.after)));
    for (const edge of graph.edges) {
      const key = `${graph.nodes[edge.source]?.id} ${graph.nodes[edge.target]?.id}`;
      looks.setEdge(edge.index, {
        ...PLAIN_EDGE,
        side: made.has(key) ? 'right' : gone.has(key) ? 'left' : null,
        count: made.has(key) || gone.has(key) ? 1 : 0,
      });
    }
  }, [graph, looks, difference]);
  return layout && <Canvas graph={graph} layout={layout} looks={looks} label={label} selected={chosen} onSelect={onChoose} />;
}

const keyOf = (edge: { source: string; target: string } | undefined) => (edge === undefined ? '' : `${edge.source} ${edge.target}`);

/** The later version, and what it lost. */
function union(before: SchemaDefinition, after: SchemaDefinition, difference: DefinitionDifference): SchemaDefinition {
  const removed = new Set(difference.nodes.filter((change) => change.kind === 'removed').map((change) => change.id));
  const lost = difference.edges.flatMap((change) => (change.kind !== 'added' && change.before ? [change.before] : []));
  return { ...after, nodes: [...after.nodes, ...before.nodes.filter((node) => removed.has(node.id))], edges: [...after.edges, ...lost] };
}
