// S scenarios: a server and a worker on PostgreSQL and RabbitMQ.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../cluster';
import { accessible, button, expectFault, field, open, see, statusIs, until } from '../harness';

let cluster: Cluster;

async function newKey(name: string, role: string): Promise<string> {
  return (await cluster.api.post<{ key: string }>('/api/keys', { name, role })).key;
}

async function login(page: import('playwright-core').Page, key: string): Promise<void> {
  await field(page, 'API key').fill(key);
  await button(page, 'Log in').click();
  await page.waitForURL((url) => url.pathname !== '/login');
}

describe('S', () => {
  beforeAll(async () => {
    cluster = await Cluster.start('[http]\nallow = ["127.0.0.1/32"]\n[engine]\nlease = "3s"\n');
  });
  afterAll(() => cluster?.end());

  test('24 login: a viewer gets reasons, a revoked key logs out, a forged post is refused, next stays here', async () => {
    const key = await newKey('looker', 'viewer');
    expectFault(/answer: 401/);
    const page = await open(`${cluster.url}/runs?status=failed`);
    await page.waitForURL('**/login?next=*');
    await accessible(page, 'login');
    for (const theme of ['light', 'dark'] as const) {
      const russian = await open(`${cluster.url}/login`, { theme, language: 'ru' });
      await see(russian, 'API-ключ');
      await accessible(russian, `login in Russian, ${theme}`);
    }
    await field(page, 'API key').fill('pawl_not_a_key');
    await button(page, 'Log in').click();
    await see(page, 'This key does not open this server');
    await accessible(page, 'a refused login');
    await login(page, key);
    await page.waitForURL('**/runs?status=failed');
    const cookies = await page.context().cookies();
    expect(cookies.map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }))).toEqual([
      { name: 'pawl_session', httpOnly: true, sameSite: 'Strict' },
    ]);
    expect(await page.evaluate((secret) => JSON.stringify([localStorage, sessionStorage, document.cookie]).includes(secret), key)).toBe(
      false,
    );

    await page.goto(`${cluster.url}/schedules`);
    const add = button(page, 'New schedule').first();
    await add.waitFor();
    expect(await add.getAttribute('aria-disabled')).toBe('true');
    await add.hover();
    await see(page, 'Needs the role editor; you have viewer.');
    await page.goto(`${cluster.url}/keys`);
    await see(page, 'Needs the role admin; you have viewer.');
    await page.goto(`${cluster.url}/settings`);
    await see(page, 'key:looker');

    const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const forged = await fetch(`${cluster.url}/api/executions`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json', origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      body: '{"schema": "x"}',
    });
    expect(forged.status).toBe(403);
    const bare = await fetch(`${cluster.url}/api/executions`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: '{}',
    });
    expect(bare.status).toBe(403);

    await page.goto(`${cluster.url}/workers`);
    await see(page, /in use/);
    const other = await page.context().newPage();
    await other.goto(`${cluster.url}/runs`);
    await see(other, 'live');
    await cluster.api.call('DELETE', '/api/keys/looker');
    const out = (one: typeof page) => one.waitForURL('**/login?next=*', { timeout: 5_000 });
    await Promise.all([out(page), out(other)]);
    await other.close();

    const second = await newKey('second', 'operator');
    await page.goto(`${cluster.url}/login?next=${encodeURIComponent('//evil.example/x')}`);
    await login(page, second);
    expect(new URL(page.url()).origin).toBe(cluster.url);
    expect(new URL(page.url()).pathname).toBe('/');
    await page.goto(`${cluster.url}/settings`);
    await button(page, 'Log out').click();
    await page.waitForURL('**/login');
    expect(await page.context().cookies()).toEqual([]);
    await page.goto(`${cluster.url}/runs`);
    await page.waitForURL('**/login?next=*');
  });

  test('25 a worker is killed while it calls: another one takes the run, the page shows the interrupted try', async () => {
    const calls: ServerResponse[] = [];
    const service = createServer((_request, answer) => calls.push(answer));
    await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
    const { port } = service.address() as AddressInfo;
    try {
      await cluster.api.save(effect(port));
      const { id } = await cluster.api.start('slow-call');
      await until('the first call came', async () => calls.length === 1);
      expectFault(/answer: 401/);
      const page = await open(`${cluster.url}/runs/${id}?node=call`);
      await page.waitForURL('**/login?next=*');
      await login(page, await newKey('watcher', 'operator'));
      await page.waitForURL(`**/runs/${id}*`);
      await statusIs(page, 'running');
      await cluster.killWorker();
      await cluster.worker();
      await until('another worker calls again', async () => calls.length === 2, 40_000);
      calls[1]?.end('done');
      await statusIs(page, 'completed');
      await see(page, /INTERRUPTED/);
      const step = await cluster.api.get<{ items: { node_id: string; attempts: { error: { code: string } | null }[] | null }[] }>(
        `/api/executions/${id}/steps`,
      );
      const tries = step.items.find((one) => one.node_id === 'call')?.attempts ?? [];
      expect(tries.map((one) => one.error?.code)).toContain('INTERRUPTED');
    } finally {
      for (const call of calls) call.destroy();
      service.close();
    }
  });
});

function effect(port: number): string {
  return `
name: slow-call
nodes:
  - { id: begin, type: start }
  - { id: call, type: http_request, on_interrupt: rerun, timeout: 5m, config: { method: GET, url: "http://127.0.0.1:${port}/" } }
  - { id: done, type: end, config: { output: { survived: true } } }
edges:
  - { source: begin, target: call }
  - { source: call, target: done }
`;
}
