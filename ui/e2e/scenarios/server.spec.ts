// S scenarios: a server and a worker on PostgreSQL and RabbitMQ.
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Cluster } from '../cluster';
import { accessible, button, dialog, expectFault, field, open, see, statusIs, until } from '../harness';

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
    await see(page, 'live');
    const other = await page.context().newPage();
    await other.goto(`${cluster.url}/runs`);
    await see(other, 'live');
    await cluster.api.call('DELETE', '/api/keys/looker');
    const out = (one: typeof page, ms: number) => one.waitForURL('**/login?next=*', { timeout: ms });
    // The first holds the stream and is told at once; the other has it from there, or asks by itself.
    await Promise.all([out(page, 5_000), out(other, 10_000)]);
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

  test('who logs out is asked about the drafts in this browser, and can remove them', async () => {
    const key = await newKey('writer', 'editor');
    await cluster.api.save(NAP.replace('long-nap', 'drafted'));
    expectFault(/answer: 401/);
    const page = await open(`${cluster.url}/schemas/drafted/edit?node=nap`);
    const drafts = () =>
      page.evaluate(
        () =>
          new Promise<number>((resolve, reject) => {
            const opening = indexedDB.open('pawl-drafts');
            opening.onerror = () => reject(opening.error);
            opening.onsuccess = () => {
              const counting = opening.result.transaction('drafts').objectStore('drafts').count();
              counting.onsuccess = () => {
                opening.result.close();
                resolve(counting.result);
              };
            };
          }),
      );
    const leave = async (how: string) => {
      await button(page, /^key:writer/).click();
      await page.getByRole('menuitem', { name: 'Log out' }).click();
      await see(dialog(page), 'drafted');
      await button(dialog(page), how).click();
    };
    await login(page, key);
    await page.getByRole('tab', { name: 'Notes' }).click();
    await field(page, 'Name for people').fill('Not saved');
    await see(page, /unsaved \(draft/);
    await leave('Cancel');
    expect(await drafts()).toBe(1);
    await leave('Keep and log out');
    await page.waitForURL('**/login');
    expect(await drafts()).toBe(1);
    await page.goto(`${cluster.url}/schemas/drafted/edit?node=nap`);
    await login(page, key);
    await see(page, /A draft of .* was not saved/);
    await button(page, /^key:writer/).click();
    await page.getByRole('menuitem', { name: 'Log out' }).click();
    await see(dialog(page), 'Whoever uses the browser next could read it');
    await accessible(page, 'the question about drafts');
    await button(dialog(page), 'Remove and log out').click();
    await page.waitForURL('**/login');
    await until('the draft is gone', async () => (await drafts()) === 0);
    // Without drafts nothing is asked.
    await page.goto(`${cluster.url}/runs`);
    await login(page, key);
    await page.goto(`${cluster.url}/settings`);
    await button(page, 'Log out').click();
    await page.waitForURL('**/login');
  });

  const NAP = `
name: long-nap
nodes:
  - { id: begin, type: start }
  - { id: nap, type: sleep, config: { duration: 2, unit: hours } }
  - { id: done, type: end }
edges:
  - { source: begin, target: nap }
  - { source: nap, target: done }
`;

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
