/** The one worker of a page, started when it is first needed. */
import type { TaskAnswer, Tasks } from '../graph/worker';
import workerAddress from '../graph/worker?worker&url';

interface Policy {
  createScriptURL(address: string): string;
}
interface Factory {
  createPolicy(name: string, rules: { createScriptURL: (address: string) => string }): Policy;
}

let policy: Policy | null = null;

/** The only addresses that the Trusted Types policy lets through are our own assets. */
function trusted(address: string): string {
  const rules = {
    createScriptURL: (text: string) => {
      const url = new URL(text, location.href);
      const ours = url.origin === location.origin && (url.pathname.startsWith('/assets/') || import.meta.env.DEV);
      if (!ours) throw new TypeError(`not a worker of ours: ${text}`);
      return url.href;
    },
  };
  const factory = (globalThis as { trustedTypes?: Factory }).trustedTypes;
  policy ??= factory === undefined ? rules : factory.createPolicy('pawl-worker', rules);
  return policy.createScriptURL(address);
}

interface Waiting {
  resolve: (value: never) => void;
  reject: (error: Error) => void;
}

let worker: Worker | null = null;
let last = 0;
const waiting = new Map<number, Waiting>();

function started(): Worker {
  if (worker !== null) return worker;
  worker = new Worker(trusted(workerAddress), { type: 'module' });
  worker.onmessage = ({ data }: MessageEvent<TaskAnswer>) => {
    const one = waiting.get(data.id);
    waiting.delete(data.id);
    if ('error' in data) one?.reject(new Error(data.error));
    else one?.resolve(data.value as never);
  };
  worker.onerror = (event) => {
    for (const one of waiting.values()) one.reject(new Error(event.message || 'the worker could not be started'));
    waiting.clear();
    worker = null;
  };
  return worker;
}

export function inWorker<T extends keyof Tasks>(task: T, input: Parameters<Tasks[T]>[0]): Promise<ReturnType<Tasks[T]>> {
  last += 1;
  const id = last;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    try {
      started().postMessage({ id, task, input });
    } catch (error) {
      waiting.delete(id);
      reject(error instanceof Error ? error : new Error(String(error)));
    }
  });
}
