import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run } from '../api';
import { accessible, button, Dev, expectFault, field, open, profile, scrubber, see, statusIs, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

const STEPS = `
name: by-steps
nodes:
  - { id: begin, type: start }
  - { id: one, type: variable_set, config: { variable: sum, value: 1 } }
  - { id: two, type: variable_set, config: { variable: sum, value: "{{variables.sum + 1}}" } }
  - { id: three, type: variable_set, config: { variable: sum, value: "{{variables.sum + 1}}" } }
  - { id: done, type: end, config: { output: "{{variables.sum}}" } }
edges:
  - { source: begin, target: one }
  - { source: one, target: two }
  - { source: two, target: three }
  - { source: three, target: done }
`;

test('15 debugger: a step, a double click makes one step, an edited variable, run to a node, continue; the edit is in the history', async () => {
  await dev.api.save(STEPS);
  const { id } = await dev.api.start('by-steps', null, { debug_mode: true });
  await dev.api.reaches(id, 'waiting_debug');
  const page = await open(`${dev.url}/runs/${id}?tab=variables`);
  await statusIs(page, 'in the debugger');
  const bar = page.getByRole('toolbar', { name: 'Debugger' });
  const at = async () => dev.api.run(id);
  const seq = (await at()).seq;
  await accessible(page, 'debugger');
  await button(bar, 'Step').click();
  await until('one step was made', async () => (await at()).seq === seq + 1);
  await until('the page follows', async () => (await scrubber(page)).last === seq + 1);
  expectFault(/answer: 409/);
  await button(bar, 'Step').dblclick();
  await until('another step was made', async () => (await at()).seq >= seq + 2);
  await until('the page follows', async () => (await scrubber(page)).last === seq + 2);
  await dev.api.reaches(id, 'waiting_debug');
  expect((await at()).seq).toBe(seq + 2);

  await field(page, 'sum').fill('40');
  await see(page, '1 change with the next step');
  const node = page.locator('.react-flow__node').filter({ hasText: 'done' }).first();
  await node.click();
  await button(bar, 'Run to done').click();
  await until('it stands before done', async () => (await at()).status === 'waiting_debug' && (await at()).current_node_id === 'done');
  await button(bar, 'Continue').click();
  await statusIs(page, 'completed');
  const steps = await dev.api.get<{ items: { node_id: string }[] }>(`/api/executions/${id}/steps`);
  expect(steps.items.map((step) => step.node_id)).toContain('$edit');
  const ended: Run = await at();
  expect(ended.output).toBe(41);
  await page.goto(`${dev.url}/runs/${id}?low=steps`);
  await see(page, '$edit');
});

const WEB = `
name: hostile-page
triggers:
  - { type: webhook, path: page, method: GET, respond: respond_node, wait: 10s }
nodes:
  - { id: begin, type: start }
  - id: answer
    type: respond
    config:
      status: 200
      headers: { Content-Type: "text/html; charset=utf-8", Content-Security-Policy: "default-src * 'unsafe-inline'" }
      body: "<!doctype html><title>page</title><script>fetch('/api/executions').then(a => a.text()).then(a => { document.title = 'read ' + a.length }, () => { document.title = 'refused' })</script>"
  - { id: done, type: end }
edges:
  - { source: begin, target: answer }
  - { source: answer, target: done }
`;

test('27 HTML of a webhook: its script runs in a sandbox and cannot read the API', async () => {
  await dev.api.save(WEB);
  const answer = await fetch(`${dev.url}/webhook/page`);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-security-policy')).toContain('sandbox');
  expectFault(/answer: 403/);
  expectFault(/request: net::ERR/);
  expectFault(/console: .*(CORS|opaque|blocked|sandbox)/i);
  const page = await open(`${dev.url}/webhook/page`);
  await page.waitForFunction(() => document.title !== 'page' && document.title !== '');
  expect(await page.title()).toBe('refused');
  expect(await page.evaluate(() => window.origin)).toBe('null');
});

test('29 eight tabs: all show the list, and together they hold one stream', async () => {
  const { id } = await dev.api.ended((await dev.api.start('order-check')).id);
  const context = await profile();
  const streams = new Set<import('playwright-core').Request>();
  context.on('request', (request) => {
    if (new URL(request.url()).pathname === '/api/events') streams.add(request);
  });
  context.on('requestfinished', (request) => void streams.delete(request));
  context.on('requestfailed', (request) => void streams.delete(request));
  const pages = [];
  for (let at = 0; at < 8; at += 1) {
    const page = await context.newPage();
    await page.goto(`${dev.url}/runs`);
    await see(page, id.slice(-8));
    pages.push(page);
  }
  await until('one stream is left', async () => streams.size === 1);
  const fresh = await dev.api.ended((await dev.api.start('order-check')).id);
  for (const page of pages) await page.getByRole('button', { name: /1 new run/ }).waitFor();
  expect(streams.size).toBe(1);
  expect(fresh.status).toBe('completed');
});
