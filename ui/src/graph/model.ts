/** A definition as a graph: nodes and edges by number, so that layout, scrubbing and drawing work on arrays. */

export interface DefinedNode {
  id: string;
  type: string;
  name?: string | null;
  config?: Record<string, unknown> | null;
  disabled?: boolean | null;
  on_error?: string | null;
  timeout?: unknown;
  retry?: Record<string, unknown> | null;
  on_interrupt?: string | null;
  entry?: boolean | null;
}

export interface DefinedEdge {
  source: string;
  target: string;
  sourceHandle?: string | null;
}

export interface GraphDefinition {
  name?: string;
  nodes: DefinedNode[];
  edges?: DefinedEdge[] | null;
}

export const SUCCESS = 'success';
export const ERROR = 'error';

/** The exit of an edge that names none. */
const UNNAMED: Record<string, string> = { condition: 'true', switch: 'default' };
export const unnamedExit = (type: string) => UNNAMED[type] ?? SUCCESS;

export interface GraphNode {
  index: number;
  id: string;
  type: string;
  title: string;
  /** Exits in the order in which they are drawn; of a node without edges, none. */
  exits: string[];
  disabled: boolean;
  definition: DefinedNode;
}

export interface GraphEdge {
  index: number;
  source: number;
  target: number;
  exit: string;
  /** Its place among the exits of its source. */
  slot: number;
}

export interface Graph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  byId: Map<string, number>;
  /** Edges that leave and enter each node, as indexes into `edges`. */
  out: number[][];
  into: number[][];
  /** Edges whose source or target is not there. */
  dangling: DefinedEdge[];
}

export interface Size {
  width: number;
  height: number;
}

export const NODE_WIDTH = 208;
export const NODE_HEIGHT = 52;
const EXIT_HEIGHT = 20;

/** Exits that belong first, in this order; the others come as written, `error` last. */
const RANK: Record<string, number> = { success: 0, true: 1, false: 3, default: 4, timeout: 5, error: 6 };
const rank = (exit: string) => RANK[exit] ?? 2;

/** `exitsOf`: exits to draw although no edge leaves by them; an editor connects them. */
export function buildGraph(definition: GraphDefinition, exitsOf?: (node: DefinedNode) => readonly string[]): Graph {
  const nodes = definition.nodes.map((node, index) => plainNode(node, index, exitsOf?.(node) ?? []));
  const byId = new Map(nodes.map((node) => [node.id, node.index]));
  const graph: Graph = { nodes, edges: [], byId, out: nodes.map(() => []), into: nodes.map(() => []), dangling: [] };
  for (const edge of definition.edges ?? []) addEdge(graph, edge);
  for (const node of nodes) sortExits(graph, node);
  return graph;
}

function plainNode(definition: DefinedNode, index: number, exits: readonly string[]): GraphNode {
  return {
    index,
    id: definition.id,
    type: definition.type,
    title: definition.name || definition.id,
    exits: [...exits],
    disabled: definition.disabled === true,
    definition,
  };
}

function addEdge(graph: Graph, edge: DefinedEdge) {
  const source = graph.byId.get(edge.source);
  const target = graph.byId.get(edge.target);
  if (source === undefined || target === undefined) {
    graph.dangling.push(edge);
    return;
  }
  const node = graph.nodes[source] as GraphNode;
  const exit = edge.sourceHandle || unnamedExit(node.type);
  if (!node.exits.includes(exit)) node.exits.push(exit);
  const index = graph.edges.length;
  graph.edges.push({ index, source, target, exit, slot: 0 });
  (graph.out[source] as number[]).push(index);
  (graph.into[target] as number[]).push(index);
}

function sortExits(graph: Graph, node: GraphNode) {
  const order = new Map(node.exits.map((exit, place) => [exit, place]));
  const place = (exit: string) => rank(exit) * 1000 + (order.get(exit) ?? 0);
  node.exits.sort((a, b) => place(a) - place(b));
  const leaving = graph.out[node.index] as number[];
  for (const edge of leaving) {
    const found = graph.edges[edge] as GraphEdge;
    found.slot = node.exits.indexOf(found.exit);
  }
  leaving.sort((a, b) => (graph.edges[a] as GraphEdge).slot - (graph.edges[b] as GraphEdge).slot || a - b);
}

/** Cards have one width; a node with many exits is taller, so that each has its own place. */
export function nodeSize(node: GraphNode): Size {
  const exits = node.exits.length;
  return { width: NODE_WIDTH, height: exits <= 2 ? NODE_HEIGHT : Math.max(NODE_HEIGHT, exits * EXIT_HEIGHT + 8) };
}

/** Where an exit is on the right side of its card, from the top. */
export function exitOffset(exits: number, slot: number, height: number): number {
  return exits <= 1 ? height / 2 : (height * (slot + 0.5)) / exits;
}

/** The edge by which a run left a node: by its exit, or, where that is not known, by where it went. */
export function edgeTaken(graph: Graph, source: number, exit: string | null, target: number): number {
  const leaving = graph.out[source] ?? [];
  let byTarget = -1;
  for (const index of leaving) {
    const edge = graph.edges[index] as GraphEdge;
    if (exit !== null && edge.exit === exit && (target < 0 || edge.target === target)) return index;
    if (byTarget < 0 && edge.target === target) byTarget = index;
  }
  return byTarget;
}
