import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { accessible, button, Dev, dialog, expectFault, field, link, open, scrubber, see, statusIs, until } from '../harness';

/** A restart, or a thousand steps of a debug build. */
const SLOW = { timeout: 180_000 };

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());
afterEach(() => dev.revive());

test('1 first start: the examples are listed, order-check runs from the overview, its output is shown', async () => {
  const page = await open(dev.url);
  await see(page, '14 examples are loaded');
  await accessible(page, 'overview, first use');
  await button(page, 'Run order-check').click();
  await page.waitForURL('**/runs/*');
  await statusIs(page, 'completed');
  const id = new URL(page.url()).pathname.split('/')[2] ?? '';
  const run = await dev.api.run(id);
  expect(run).toMatchObject({ schema: 'order-check', status: 'completed', output: { ship: true, order: 1001 } });
  await see(page, /ship/);
  await see(page, (run.output as { total: string }).total);
  await accessible(page, 'a completed run');
  await page.goto(dev.url);
  await see(page, 'Open runs');
  await accessible(page, 'overview');
});

/** Twenty nodes, a wait, twenty nodes. */
function long(): string {
  const nodes = Array.from({ length: 40 }, (_, at) =>
    at === 20
      ? '  - { id: n20, type: wait_event, config: { name: go, timeout: 1h } }'
      : `  - { id: n${at}, type: ${at === 0 ? 'start' : at === 39 ? 'end' : 'variable_set'}${at === 0 || at === 39 ? '' : `, config: { variable: at, value: ${at} }`} }`,
  );
  const edges = Array.from({ length: 39 }, (_, at) => `  - { source: n${at}, target: n${at + 1} }`);
  return `name: forty\nnodes:\n${nodes.join('\n')}\nedges:\n${edges.join('\n')}\n`;
}

test('12 live run: forty nodes light up in the open page; a reload in the middle shows the same', async () => {
  await dev.api.save(long());
  const { id } = await dev.api.start('forty');
  await dev.api.reaches(id, 'waiting');
  const page = await open(`${dev.url}/runs/${id}?view=outline`);
  await statusIs(page, 'waiting');
  const items = page.getByRole('treeitem', { name: /success/ });
  await until('twenty nodes are done', async () => (await scrubber(page)).last === 20);
  const before = await items.allInnerTexts();
  await page.reload();
  await statusIs(page, 'waiting');
  await until('the same after a reload', async () => JSON.stringify(await items.allInnerTexts()) === JSON.stringify(before));
  expect(before.length).toBeGreaterThan(10);
  await dev.api.post(`/api/executions/${id}/signals/go`, {});
  await statusIs(page, 'completed');
  const { seq } = await dev.api.run(id);
  await until('the page has every step', async () => (await scrubber(page)).last === seq);
  expect(seq).toBe(40);
  await accessible(page, 'outline of a run');
});

/** A sleep has its time and cannot be cut short: long enough to open the page, count down and be killed on a slow machine, and no longer. */
const SLEEPER = `
name: sleeper
nodes:
  - { id: begin, type: start }
  - { id: nap, type: sleep, config: { duration: 20, unit: seconds } }
  - { id: done, type: end, config: { output: { rested: true } } }
edges:
  - { source: begin, target: nap }
  - { source: nap, target: done }
`;

test('13 sleep: the page counts down, survives kill -9 and a restart, and goes on by itself', SLOW, async () => {
  await dev.api.save(SLEEPER);
  const { id } = await dev.api.start('sleeper');
  const page = await open(`${dev.url}/runs/${id}`);
  await statusIs(page, 'sleeping');
  const head = page.getByRole('button', { name: /It sleeps at node nap until/ }).locator('time');
  const left = async () => Number(/^0:(\d\d)$/.exec(await head.innerText())?.[1] ?? Number.NaN);
  const first = await left();
  expect(first).toBeGreaterThan(1);
  await until('it counts down', async () => (await left()) < first);
  // The card of the node and the inspector say the same second.
  const places = [page.locator('[data-node=nap] time'), page.getByRole('tabpanel', { name: 'Step' }).locator('time').last()];
  for (const place of places)
    await until('it counts down everywhere', async () => {
      // In one look: a second may end between two.
      const both = [await head.elementHandle(), await place.elementHandle()];
      const [one, other] = await page.evaluate((times) => times.map((time) => time?.textContent), both);
      return /^0:\d\d$/.test(one ?? '') && one === other;
    });
  expect(await dev.api.run(id)).toMatchObject({ status: 'sleeping' });
  expectFault(/request: net::ERR/);
  expectFault(/answer: 50\d/);
  await dev.kill();
  await see(page, /The server does not answer/);
  await dev.up();
  await statusIs(page, 'completed', 45_000);
  await page
    .getByText(/The server does not answer/)
    .first()
    .waitFor({ state: 'hidden', timeout: 45_000 });
  expect(await dev.api.run(id)).toMatchObject({ status: 'completed', output: { rested: true } });
});

test('14 approval: the head says why it waits, the event is sent from there, the run ends', async () => {
  const { id } = await dev.api.start('approval', { amount: 900, patience: '1h' });
  const page = await open(`${dev.url}/runs/${id}`);
  await statusIs(page, 'waiting');
  await see(page, /It waits at (node )?`?decision`? for the event `?approved/);
  await accessible(page, 'a waiting run');
  await button(page, 'Send event').click();
  expect(await field(dialog(page), 'Event').inputValue()).toBe('approved');
  await field(dialog(page), 'Payload').fill('{"by": "ada", "approved": true}');
  await accessible(page, 'send an event');
  await button(dialog(page), 'Send').click();
  await statusIs(page, 'completed');
  expect((await dev.api.run(id)).output).toEqual({ approved: true, by: 'ada' });
});

const LOOP = `
name: loop-500
settings: { max_steps: 5000 }
nodes:
  - { id: begin, type: start }
  - { id: count, type: variable_set, config: { variable: n, value: "{{(variables.n ?? 0) + 1}}" } }
  - { id: more, type: condition, config: { expression: "{{variables.n}} < 500" } }
  - { id: done, type: end, config: { output: "{{variables.n}}" } }
edges:
  - { source: begin, target: count }
  - { source: count, target: more }
  - { source: more, target: count, sourceHandle: "true" }
  - { source: more, target: done, sourceHandle: "false" }
`;

/** How many points are painted in the row of visits, the lowest of the scrubber. */
function visitsRow(page: import('playwright-core').Page): Promise<number> {
  return page.getByRole('slider', { name: 'The moment shown' }).evaluate((slider) => {
    const canvas = slider.parentElement?.querySelector('canvas') as HTMLCanvasElement;
    const high = Math.round((4 * canvas.height) / 42);
    const { data } = (canvas.getContext('2d') as CanvasRenderingContext2D).getImageData(0, canvas.height - high, canvas.width, high);
    let painted = 0;
    for (let at = 3; at < data.length; at += 4) if ((data[at] ?? 0) > 0) painted += 1;
    return painted;
  });
}

test('16 scrub a loop of 500 visits: keys, visits, and the difference of the context is that of the API', SLOW, async () => {
  await dev.api.save(LOOP);
  const { id } = await dev.api.start('loop-500');
  const { seq, status } = await dev.api.ended(id);
  expect(status).toBe('completed');
  const page = await open(`${dev.url}/runs/${id}?node=count&tab=context&step=500`);
  await until('it stands after step 500', async () => (await scrubber(page)).now === 500);
  expect((await scrubber(page)).last).toBe(seq);
  const slider = page.getByRole('slider', { name: 'The moment shown' });
  await slider.focus();
  await page.keyboard.press('ArrowRight');
  await until('one step on', async () => (await scrubber(page)).now === 501);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowLeft');
  await until('two steps back', async () => (await scrubber(page)).now === 499);
  await page.keyboard.press('Home');
  await until('the beginning', async () => (await scrubber(page)).now === 0);
  await page.keyboard.press('End');
  await until('the end', async () => (await scrubber(page)).now === seq);
  await page.keyboard.press('Shift+ArrowLeft');
  const steps = await dev.api.get<{ items: { seq: number; node_id: string }[] }>(`/api/executions/${id}/steps?from=${seq - 4}&to=${seq}`);
  const lastVisit = steps.items.filter((step) => step.node_id === 'count').at(-1)?.seq;
  await until('the last visit of the selected node', async () => (await scrubber(page)).now === lastVisit);
  await page.waitForURL(`**step=${lastVisit}*`);
  expect(await visitsRow(page)).toBeGreaterThan(100);
  await page.keyboard.press('Shift+ArrowLeft');
  const before = (lastVisit ?? 0) - 2;
  await until('the visit before', async () => (await scrubber(page)).now === before);
  const said = await dev.api.get<{ difference: { path: string; before: number; after: number }[] }>(
    `/api/executions/${id}/steps/${before}/context?view=difference&pointer=/variables`,
  );
  expect(said.difference).toHaveLength(1);
  await page.goto(`${dev.url}/runs/${id}?node=count&tab=context&step=${before}`);
  await page
    .getByRole('radio', { name: 'Only changes' })
    .or(button(page, 'Only changes'))
    .or(page.getByRole('tab', { name: 'Only changes' }))
    .first()
    .click();
  const change = said.difference[0];
  const place = page.getByRole('listitem').filter({ hasText: '/variables/n' });
  await place.waitFor();
  expect(await place.innerText()).toContain(String(change?.before));
  expect(await place.innerText()).toContain(String(change?.after));
  await accessible(page, 'scrubbing');
  await page.goto(`${dev.url}/runs/${id}?node=count&step=${before}`);
  await see(page, 'visit 499 of 500');
  await button(page, 'Next visit of the node').click();
  await see(page, 'visit 500 of 500');
  expect((await scrubber(page)).now).toBe(lastVisit);
  await page.goto(`${dev.url}/runs/${id}`);
  await until('all steps are there', async () => (await scrubber(page)).last === seq);
  await until('without a chosen node there is no row of visits', async () => (await visitsRow(page)) === 0);
});

test('17 fork at step 3 with another variable; compared with its parent, the first difference is named', async () => {
  const made = await dev.api.start('loop-500', null, { variables: { n: 490 } });
  const parent = await dev.api.ended(made.id);
  const page = await open(`${dev.url}/runs/${parent.id}?step=3`);
  await until('it stands after step 3', async () => (await scrubber(page)).now === 3);
  await button(page, 'Fork from here').click();
  await field(dialog(page), 'Variables').fill('{"n": 498}');
  await see(dialog(page), '1 change will be sent');
  await accessible(page, 'fork');
  await button(dialog(page), 'Fork').click();
  await page.waitForURL((url) => !url.pathname.includes(parent.id));
  await statusIs(page, 'completed');
  const id = new URL(page.url()).pathname.split('/')[2] ?? '';
  const child = await dev.api.run(id);
  expect(child).toMatchObject({ forked_from: parent.id, output: 500 });
  // Back leads to the parent, not into the dialog again.
  await page.goBack();
  await page.waitForURL((url) => url.pathname.includes(parent.id) && !url.searchParams.has('fork'));
  await page.goForward();
  await page.waitForURL((url) => url.pathname.includes(id));
  expect(child.seq).toBeLessThan(parent.seq);
  const truth = await dev.api.get<{
    first_divergence: { left: { node_id: string; seq: number } | null; right: { node_id: string } | null };
  }>(`/api/executions/${id}/diff?with=${parent.id}`);
  const node = truth.first_divergence.left?.node_id ?? truth.first_divergence.right?.node_id ?? '?';
  await page.goto(`${dev.url}/runs/${id}/compare?with=${parent.id}`);
  await see(page, new RegExp(`First difference: .*, at ${node.replace('$', '\\$')}\\.`));
  await accessible(page, 'compare');
});

test('18 a failed run: the last good partner, and a retry', async () => {
  await dev.api.save(
    'name: breaks\nnodes:\n  - { id: begin, type: start }\n  - { id: check, type: condition, config: { expression: "{{variables.ok}} == true" } }\n  - { id: done, type: end }\nedges:\n  - { source: begin, target: check }\n  - { source: check, target: done, sourceHandle: "true" }\n  - { source: check, target: done, sourceHandle: "false" }\n',
  );
  const early = await dev.api.ended((await dev.api.start('breaks')).id);
  const page = await open(`${dev.url}/runs/${early.id}`);
  await see(page, 'No run of this schema has completed yet.');
  await page.goto(`${dev.url}/runs/${early.id}/compare`);
  await see(page, 'There is no good run to compare with yet.');

  const good = await dev.api.ended((await dev.api.start('breaks', null, { variables: { ok: true } })).id);
  const failed = await dev.api.ended((await dev.api.start('breaks')).id);
  expect([good.status, failed.status]).toEqual(['completed', 'failed']);
  await page.goto(`${dev.url}/runs/${failed.id}`);
  await statusIs(page, 'failed');
  await see(page, failed.error?.code ?? '?');
  const truth = await dev.api.get<{ first_divergence: { index: number; left: { node_id: string } }; right: { id: string } }>(
    `/api/executions/${failed.id}/diff?view=outline`,
  );
  expect(truth.right.id).toBe(good.id);
  const { index, left } = truth.first_divergence;
  const first = link(page, `first difference at step ${index}, ${left.node_id}`);
  await first.waitFor();
  await accessible(page, 'a failed run');
  await first.click();
  await page.waitForURL(`**/runs/${failed.id}/compare?with=${good.id}`);
  await see(page, new RegExp(`First difference: step ${index}, `));
  await page.goto(`${dev.url}/runs/${failed.id}`);
  await button(page, 'Retry').click();
  await field(dialog(page), 'Set variables').fill('{"ok": true}');
  await button(dialog(page), 'Retry').click();
  await page.waitForURL((url) => !url.pathname.includes(failed.id));
  await statusIs(page, 'completed');
  const id = new URL(page.url()).pathname.split('/')[2] ?? '';
  expect(await dev.api.run(id)).toMatchObject({ retry_of: failed.id, status: 'completed' });
  expect((await dev.api.run(failed.id)).retried_as).toBe(id);
  await see(page, /retry of/);
});

test('18 a run that takes down its worker again and again ends with a dead letter; requeued, it goes on in a new run', async () => {
  // It answers nobody until it is told to.
  let [asked, answers] = [0, false];
  const far = createServer((_, answer) => {
    asked += 1;
    if (answers) answer.end('{}');
  });
  await new Promise<void>((listening) => far.listen(0, '127.0.0.1', listening));
  try {
    const url = `http://127.0.0.1:${(far.address() as AddressInfo).port}/`;
    await dev.api.save(
      `name: deadly\nnodes:\n  - { id: begin, type: start }\n  - { id: work, type: http_request, config: { url: "${url}" } }\n  - { id: done, type: end }\nedges:\n  - { source: begin, target: work }\n  - { source: work, target: done }\n`,
    );
    const { id } = await dev.api.start('deadly');
    const over = async () => (await dev.api.run(id)).status === 'failed_stuck';
    for (let kills = 0; kills < 10; kills += 1) {
      await until('it calls or is given up', async () => asked > kills || (await over()));
      if (asked <= kills) break;
      await dev.kill();
      await dev.up();
    }
    expect((await dev.api.run(id)).status).toBe('failed_stuck');
    answers = true;
    const page = await open(`${dev.url}/dead-letters`);
    await link(page, new RegExp(id.slice(-8)))
      .first()
      .waitFor();
    const letters = await dev.api.get<{ items: { id: number; execution_id: string }[] }>('/api/dead-letters?open=true');
    const letter = letters.items.find((one) => one.execution_id === id);
    await page.goto(`${dev.url}/dead-letters/${letter?.id}`);
    await see(page, 'What a requeue would do');
    await accessible(page, 'a dead letter');
    await button(page, 'Requeue').click();
    await link(page, 'Open the run').click();
    await page.waitForURL((where) => where.pathname.startsWith('/runs/') && !where.pathname.includes(id));
    await statusIs(page, 'completed');
    const made = new URL(page.url()).pathname.split('/')[2] ?? '';
    expect(await dev.api.run(made)).toMatchObject({ retry_of: id, status: 'completed' });
  } finally {
    far.closeAllConnections();
    far.close();
  }
}, 180_000);
