import { afterEach, describe, expect, it, vi } from 'vitest';
import { api } from './client';
import { online, useOnline } from './online';

const answer = (status: number, text: string) => vi.stubGlobal('fetch', async () => new Response(text, { status }));
const read = () => api.get('/api/me').catch(() => undefined);

describe('whether the server answers', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    online.answered();
  });

  it('tells a server that is not ready from one that is gone', async () => {
    answer(503, '{"error":"UNAVAILABLE","message":"the store cannot be reached"}');
    await read();
    expect(useOnline.getState()).toMatchObject({ unready: true, failingSince: expect.any(Number) });
    answer(503, '<h1>503 of a proxy</h1>');
    await read();
    expect(useOnline.getState().unready).toBe(false);
    vi.stubGlobal('fetch', async () => {
      throw new TypeError('refused');
    });
    await read();
    expect(useOnline.getState()).toMatchObject({ unready: false, failingSince: expect.any(Number) });
    answer(200, '{}');
    await read();
    expect(useOnline.getState()).toMatchObject({ unready: false, failingSince: null });
  });
});
