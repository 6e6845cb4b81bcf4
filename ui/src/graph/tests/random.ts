import type { DefinedEdge, DefinedNode, GraphDefinition } from '../model';

/** A generator of numbers by seed, so that a failing case can be repeated. */
export function random(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** A flow with branches, joins and loops. */
export function randomFlow(seed: number, count: number): GraphDefinition {
  const pick = random(seed);
  const nodes: DefinedNode[] = [{ id: 'n0', type: 'start' }];
  const edges: DefinedEdge[] = [];
  for (let at = 1; at < count; at++) {
    nodes.push({ id: `n${at}`, type: pick(4) === 0 ? 'condition' : 'log' });
    edges.push({ source: `n${at - 1 - pick(Math.min(at, 4))}`, target: `n${at}`, sourceHandle: pick(3) === 0 ? 'true' : undefined });
    if (pick(5) === 0) edges.push({ source: `n${at}`, target: `n${pick(at + 1)}`, sourceHandle: 'false' });
    if (pick(7) === 0) edges.push({ source: `n${pick(at)}`, target: `n${at}`, sourceHandle: 'error' });
  }
  return { nodes, edges };
}

export function chain(count: number): GraphDefinition {
  const nodes = Array.from({ length: count }, (_, at) => ({ id: `n${at}`, type: at === 0 ? 'start' : 'log' }));
  const edges = nodes.slice(1).map((node, at) => ({ source: `n${at}`, target: node.id }));
  return { nodes, edges };
}
