/** The only place that calls `fetch`. Changes are never repeated here; reads are repeated by the query client. */
import { ApiError } from './error';
import { isObject, type Json, read, write } from './json';
import { online } from './online';

export type Query = { [name: string]: string | number | boolean | string[] | null | undefined };

export interface Call {
  query?: Query;
  /** Sent as JSON. */
  body?: unknown;
  /** Sent as it is: the text of a schema. */
  text?: { type: 'application/yaml' | 'application/json'; content: string };
  /** A version: sent as If-Match. */
  ifMatch?: string | number;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

export interface Answer<T> {
  data: T;
  status: number;
  /** Without its quotes. */
  etag: string | null;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export function address(path: string, query?: Query): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === null || value === undefined || value === '') continue;
    if (Array.isArray(value)) for (const one of value) search.append(name, one);
    else search.append(name, String(value));
  }
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** Parts of a path: `path('/api/executions', id, 'steps', 3)`. */
export function path(base: string, ...parts: (string | number)[]): string {
  return [base, ...parts.map((part) => encodeURIComponent(part))].join('/');
}

/** A call whose answer is not read as JSON: streams, downloads, /metrics. */
export async function raw(method: Method, where: string, call: Call = {}): Promise<Response> {
  const url = address(where, call.query);
  const headers: Record<string, string> = { accept: 'application/json', ...call.headers };
  const body = call.text ? call.text.content : call.body === undefined ? undefined : write(call.body);
  if (call.text) headers['content-type'] = call.text.type;
  else if (body !== undefined) headers['content-type'] = 'application/json';
  if (call.ifMatch !== undefined) headers['if-match'] = call.ifMatch === '*' ? '*' : `"${call.ifMatch}"`;
  let answer: Response;
  try {
    answer = await fetch(url, { method, headers, body, signal: call.signal, credentials: 'same-origin', cache: 'no-store' });
  } catch (thrown) {
    if (call.signal?.aborted) throw thrown;
    online.failed();
    throw new ApiError(0, 'NETWORK', thrown instanceof Error ? thrown.message : String(thrown), null, `${method} ${url}`);
  }
  if (!answer.ok) throw await failure(answer, `${method} ${url}`);
  online.answered();
  return answer;
}

export async function call<T>(method: Method, where: string, options: Call = {}): Promise<Answer<T>> {
  const answer = await raw(method, where, options);
  const text = answer.status === 204 ? '' : await answer.text();
  const etag = answer.headers.get('etag')?.replace(/^W\//, '').replace(/^"|"$/g, '') ?? null;
  return { data: (text === '' ? undefined : read(text)) as T, status: answer.status, etag };
}

async function failure(answer: Response, what: string): Promise<ApiError> {
  const text = await answer.text().catch(() => '');
  let said: Json = null;
  try {
    said = read(text);
  } catch {
    // A proxy in between answers with a page of its own; the status says enough.
  }
  const envelope = isObject(said) ? said : {};
  const code = typeof envelope.error === 'string' ? envelope.error : `HTTP_${answer.status}`;
  const message = typeof envelope.message === 'string' ? envelope.message : `${answer.status} ${answer.statusText}`.trim();
  const after = Number(answer.headers.get('retry-after'));
  const params = isObject(envelope.params) ? envelope.params : null;
  const error = new ApiError(answer.status, code, message, envelope.details ?? null, what, after || null, params);
  // A proxy also says 503, for a server that is gone; the server itself says why.
  if (error.offline) online.failed(answer.status === 503 && typeof envelope.error === 'string');
  else online.answered();
  if (answer.status === 401) online.loggedOut();
  return error;
}

export const api = {
  get: async <T>(where: string, query?: Query, signal?: AbortSignal) => (await call<T>('GET', where, { query, signal })).data,
  post: async <T>(where: string, body?: unknown, options: Call = {}) => (await call<T>('POST', where, { ...options, body })).data,
  put: async <T>(where: string, body: unknown, options: Call = {}) => (await call<T>('PUT', where, { ...options, body })).data,
  delete: async (where: string, options: Call = {}) => {
    await call<void>('DELETE', where, options);
  },
};
