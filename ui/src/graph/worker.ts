/** Beside the page: what would hold it up. A request names a task; the answer carries the same number. */
import { layoutGraph } from './layout';
import { buildGraph, type GraphDefinition } from './model';

const TASKS = {
  layout: (definition: GraphDefinition) => layoutGraph(buildGraph(definition)),
};

export type Tasks = typeof TASKS;

export interface TaskRequest {
  id: number;
  task: keyof Tasks;
  input: GraphDefinition;
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
