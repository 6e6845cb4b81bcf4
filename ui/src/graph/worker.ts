/** Beside the page: what would hold it up. A request names a task; the answer carries the same number. */
import { layoutGraph } from './layout';
import { buildGraph, type DefinedNode, type GraphDefinition } from './model';

/** A definition without configs; `exits` of a node are those that are drawn. */
export interface PlainNode extends DefinedNode {
  exits: string[];
}
export interface PlainDefinition extends GraphDefinition {
  nodes: PlainNode[];
}

const TASKS = {
  layout: (definition: PlainDefinition) => layoutGraph(buildGraph(definition, (node) => (node as PlainNode).exits)),
};

export type Tasks = typeof TASKS;

export interface TaskRequest {
  id: number;
  task: keyof Tasks;
  input: PlainDefinition;
}

export type TaskAnswer = { id: number; value: unknown } | { id: number; error: string };

self.onmessage = ({ data }: MessageEvent<TaskRequest>) => {
  let answer: TaskAnswer;
  try {
    answer = { id: data.id, value: TASKS[data.task](data.input) };
  } catch (error) {
    answer = { id: data.id, error: error instanceof Error ? error.message : String(error) };
  }
  self.postMessage(answer);
};
