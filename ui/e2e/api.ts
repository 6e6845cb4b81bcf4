// The API's truth, beside what the page shows.
export interface Run {
  id: string;
  schema: string;
  status: string;
  seq: number;
  version: number;
  current_node_id: string;
  output: unknown;
  error: { code: string; message: string } | null;
  retry_of: string | null;
  retried_as: string | null;
  forked_from: string | null;
}

const ENDED = new Set(['completed', 'failed', 'stopped', 'failed_stuck']);

export class Api {
  constructor(
    readonly url: string,
    readonly key: string | null = null,
  ) {}

  async answer(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const text = typeof body === 'string';
    return fetch(this.url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': text ? 'application/yaml' : 'application/json' }),
        ...(this.key ? { authorization: `Bearer ${this.key}` } : {}),
        ...headers,
      },
      body: body === undefined ? undefined : text ? body : JSON.stringify(body),
    });
  }

  async call<T>(method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.answer(method, path, body);
    const said = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${said}`);
    return (said === '' ? undefined : JSON.parse(said)) as T;
  }

  get<T>(path: string): Promise<T> {
    return this.call('GET', path);
  }

  post<T>(path: string, body?: unknown): Promise<T> {
    return this.call('POST', path, body);
  }

  put<T>(path: string, body: unknown): Promise<T> {
    return this.call('PUT', path, body);
  }

  async ready(): Promise<void> {
    await until('the server answers', async () => (await fetch(`${this.url}/health/live`).catch(() => null))?.ok === true);
  }

  save(yaml: string): Promise<{ id: string; name: string; version: number }> {
    return this.post('/api/schemas', yaml);
  }

  start(schema: string, input?: unknown, more: object = {}): Promise<Run> {
    return this.post('/api/executions', { schema, input, ...more });
  }

  run(id: string): Promise<Run> {
    return this.get(`/api/executions/${id}`);
  }

  /** When it has ended. Thousands of steps take their time; the server waits for 30 s at most. */
  async ended(id: string, ms = 80_000): Promise<Run> {
    const end = Date.now() + ms;
    for (;;) {
      const left = Math.ceil((end - Date.now()) / 1000);
      const run = await this.get<Run>(`/api/executions/${id}?wait=${Math.max(1, Math.min(left, 30))}s`);
      if (ENDED.has(run.status)) return run;
      if (Date.now() >= end) throw new Error(`${id} has not ended within ${ms} ms: it is ${run.status}`);
    }
  }

  async reaches(id: string, status: string): Promise<Run> {
    await until(`${id} is ${status}`, async () => (await this.run(id)).status === status);
    return this.run(id);
  }
}

/** Asks again until it is so; never a fixed time. */
export async function until(what: string, holds: () => Promise<boolean>, ms = 20_000): Promise<void> {
  const end = Date.now() + ms;
  let last: unknown = 'it was not so';
  while (Date.now() < end) {
    try {
      if (await holds()) return;
    } catch (thrown) {
      last = thrown;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`not within ${ms} ms: ${what} (${last instanceof Error ? last.message : last})`);
}
