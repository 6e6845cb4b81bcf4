import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, Dev, expectFault, open, profile, see, statusIs } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

const SCRIPT = '<img src=x onerror="window.owned=1"><script>window.owned=1</script>';
const LINK = 'javascript:window.owned=1';
const RTL = '\u202Egnp.exe\u202C';

const ID = '"><img src=x onerror=window.owned=1>{{constructor}}';

const HOSTILE = {
  name: 'hostile',
  description: SCRIPT,
  nodes: [
    { id: 'begin', type: 'start' },
    { id: ID, type: 'log', config: { message: 'an id like any' } },
    { id: 'say', type: 'log', name: SCRIPT, config: { message: `${SCRIPT} ${LINK} {{input.text}}` } },
    { id: 'done', type: 'end', name: RTL, config: { output: '{{input}}' } },
  ],
  edges: [
    { source: 'begin', target: ID },
    { source: ID, target: 'say' },
    { source: 'say', target: 'done' },
  ],
};

/** With the input and the request around it, 64: the most that is taken. */
const LEVELS = 62;

function deep(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let at = 0; at < levels; at += 1) value = { in: value };
  return value;
}

test('26 hostile payloads: nothing runs, numbers are exact, the page stays whole', async () => {
  await dev.api.post('/api/schemas', HOSTILE);
  const big = 'A'.repeat(1_000_000);
  const text = `{"schema": "hostile", "labels": {"note": ${JSON.stringify(SCRIPT)}}, "input": {"text": ${JSON.stringify(SCRIPT)}, "link": ${JSON.stringify(LINK)},
    "rtl": ${JSON.stringify(RTL)}, "nul": "before\\u0000after", "most": 9223372036854775807, "least": -9223372036854775808, "__proto__": {"polluted": true},
    "constructor": {"prototype": {"polluted": true}}, "deep": ${JSON.stringify(deep(LEVELS))}}}`;
  const started = await dev.api.answer('POST', '/api/executions?wait=20s', text, { 'content-type': 'application/json' });
  expect(started.status, await started.clone().text()).toBe(201);
  const run = (await started.json()) as { id: string; status: string };
  expect(run.status).toBe('completed');
  const page = await open(`${dev.url}/runs/${run.id}`);
  await statusIs(page, 'completed');
  await see(page, '9223372036854775807');
  await see(page, '-9223372036854775808');
  await see(page, '__proto__');
  await accessible(page, 'hostile run');
  await see(page, /before.*after/);
  const stored = await (await dev.api.answer('GET', `/api/executions/${run.id}`)).text();
  expect(stored).toContain('before\\u0000after');
  await page.goto(`${dev.url}/runs/${run.id}?node=${encodeURIComponent(ID)}&tab=definition&low=steps`);
  await see(page, 'an id like any');
  expect(await page.getByText(ID, { exact: true }).count()).toBeGreaterThan(0);
  await page.goto(`${dev.url}/schemas/hostile/edit?node=${encodeURIComponent(ID)}&mode=split`);
  await page.getByLabel('Id of the node').waitFor();
  expect(await page.getByLabel('Id of the node').inputValue()).toBe(ID);
  await page.goto(`${dev.url}/runs/${run.id}?low=logs`);
  await see(page, /onerror=/);
  await page.goto(`${dev.url}/runs/${run.id}?view=outline&node=say&tab=definition`);
  await see(page, /window\.owned=1/);

  const large = await dev.api.ended((await dev.api.start('hostile', { text: 'x', big })).id);
  expect(large.status).toBe('completed');
  await page.goto(`${dev.url}/runs/${large.id}`);
  await statusIs(page, 'completed');
  expect(await page.evaluate(() => document.body.innerText.length)).toBeLessThan(300_000);

  await page.goto(`${dev.url}/runs`);
  await page.getByRole('row').filter({ hasText: 'hostile' }).first().waitFor();
  await page.goto(`${dev.url}/schemas`);
  await see(page, 'hostile');
  await see(page, /onerror=/);
  await page.goto(`${dev.url}/schemas/hostile`);
  await see(page, /onerror=/);
  expectFault(/answer: 404/);
  await page.goto(`${dev.url}/runs/${encodeURIComponent(SCRIPT)}`);
  await page.goto(`${dev.url}/schemas/${encodeURIComponent(SCRIPT)}`);
  await page.goto(`${dev.url}/runs?q=${encodeURIComponent(SCRIPT)}&tenant=${encodeURIComponent(LINK)}`);
  await see(page, /fit the filter/);
  const harm = await page.evaluate(() => ({
    owned: 'owned' in window,
    polluted: 'polluted' in {},
    links: [...document.querySelectorAll('a')].filter((one) => one.protocol === 'javascript:').length,
  }));
  expect(harm).toEqual({ owned: false, polluted: false, links: 0 });
});

const THIEF = `
name: thief
triggers:
  - { type: webhook, path: thief, method: GET, respond: respond_node, wait: 10s }
nodes:
  - { id: begin, type: start }
  - { id: answer, type: respond, config: { status: 200, headers: { Set-Cookie: "{{webhook.query.cookie}}" }, body: "<title>thief</title>" } }
  - { id: done, type: end }
edges:
  - { source: begin, target: answer }
  - { source: answer, target: done }
`;

test('27 a webhook cannot set a cookie of Pawl: neither written down nor put together in a run', async () => {
  const written = await dev.api.answer('POST', '/api/schemas', THIEF.replace('{{webhook.query.cookie}}', 'pawl_session=stolen; Path=/'));
  expect(written.status).toBe(422);
  await dev.api.save(THIEF);
  const asking = (cookie: string) => `${dev.url}/webhook/thief?cookie=${encodeURIComponent(cookie)}`;
  const context = await profile();
  const before = await context.cookies();
  const page = await context.newPage();
  expectFault(/answer: 5\d\d GET .*webhook/);
  for (const name of ['pawl_session', '__Host-pawl_session', 'pawl_other']) {
    const url = asking(`${name}=stolen; Path=/`);
    const answer = await fetch(url);
    expect(answer.ok, name).toBe(false);
    expect(answer.headers.getSetCookie(), name).toEqual([]);
    expect((await page.goto(url))?.ok(), name).toBe(false);
  }
  expect(await context.cookies()).toEqual(before);
  const { items } = await dev.api.get<{ items: { id: string; status: string }[] }>('/api/executions?schema=thief');
  expect(items.map((run) => run.status)).toEqual(Array.from({ length: 6 }, () => 'failed'));
  // A cookie of its own is its own affair.
  expect((await fetch(asking('basket=1'))).headers.getSetCookie()).toEqual(['basket=1']);
});
