import type { Json } from './json';

/** One envelope for everything that can go wrong with a call; `status` 0 is the network. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly details: Json = null,
    /** What was called, for "Copy details". */
    readonly call = '',
    readonly retryAfter: number | null = null,
    /** Values of the sentence, for other languages (A34). */
    readonly params: { [key: string]: Json } | null = null,
  ) {
    super(message);
    this.name = 'ApiError';
  }

  get offline(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 503 || this.status === 504;
  }
}

/** Anything thrown, as an ApiError. */
export function asApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError(-1, 'UI_ERROR', thrown instanceof Error ? thrown.message : String(thrown));
}
