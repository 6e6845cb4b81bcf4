// S: the services behind a server are cut off and come back.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { BROKER, DATABASE } from '../cluster';
import { Forwarder } from '../forwarder';
import { accessible, Dev, expectFault, open, see, statusIs, until } from '../harness';

const HELLO = `
name: hello
nodes:
  - { id: begin, type: start }
  - { id: done, type: end, config: { output: hello } }
edges:
  - { source: begin, target: done }
`;

let cluster: Dev;
let database: Forwarder;
let broker: Forwarder;
beforeAll(async () => {
  [database, broker] = [await Forwarder.to(DATABASE), await Forwarder.to(BROKER)];
  cluster = await Dev.start({ database: database.url, broker: broker.url });
  await cluster.api.save(HELLO);
});
afterAll(async () => {
  await cluster?.end();
  await Promise.all([database?.cut(), broker?.cut()]);
});
afterEach(async () => {
  for (const wire of [database, broker]) if (wire.isCut) await wire.mend();
});

/** Marks the page, so that a reload is seen. */
async function marked(page: Page): Promise<() => Promise<boolean>> {
  await page.evaluate(() => Object.assign(window, { marked: true }));
  return () => page.evaluate(() => 'marked' in window);
}

test('28 the store is down: a banner, and the page goes on by itself when it is back', async () => {
  const { id } = await cluster.api.ended((await cluster.api.start('hello')).id);
  const page = await open(`${cluster.url}/runs`);
  await see(page, id.slice(-8));
  const stayed = await marked(page);
  expectFault(/answer: 50\d/);
  expectFault(/request: net::ERR/);
  await database.cut();
  await see(page, /The server does not answer/);
  await accessible(page, 'runs without the store');
  // What was read stays.
  await see(page, id.slice(-8));
  await database.mend();
  await page
    .getByText(/The server does not answer/)
    .first()
    .waitFor({ state: 'hidden' });
  await until('the server starts runs again', async () => (await cluster.api.answer('POST', '/api/executions', { schema: 'hello' })).ok);
  await page.getByRole('button', { name: /new run/ }).waitFor();
  expect(await stayed()).toBe(true);
});

test('28 the broker is down: the run says that its queue cannot be reached, and goes on by itself when it is back', async () => {
  await broker.cut();
  let id = '';
  await until('a run is taken in', async () => {
    const answer = await cluster.api.answer('POST', '/api/executions', { schema: 'hello' });
    if (answer.ok) id = ((await answer.json()) as { id: string }).id;
    return answer.ok;
  });
  const explained = () => cluster.api.get<{ reason: string; sentence: string }>(`/api/executions/${id}/explain`);
  await until('the engine says why', async () => (await explained()).reason === 'no_queue');
  const page = await open(`${cluster.url}/runs/${id}`);
  const stayed = await marked(page);
  await see(page, /the broker cannot be reached/);
  await see(page, /The broker cannot be reached: runs are taken in/);
  await accessible(page, 'a run without its broker');
  await broker.mend();
  await statusIs(page, 'completed');
  await page.getByText(/The broker cannot be reached/).waitFor({ state: 'hidden' });
  expect(await cluster.api.run(id)).toMatchObject({ status: 'completed', output: 'hello' });
  expect(await stayed()).toBe(true);
});
