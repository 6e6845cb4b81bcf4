import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, Dev, expectFault, open, see, statusIs } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

const SCRIPT = '<img src=x onerror="window.owned=1"><script>window.owned=1</script>';
const LINK = 'javascript:window.owned=1';
const RTL = '\u202Egnp.exe\u202C';

const HOSTILE = {
  name: 'hostile',
  description: SCRIPT,
  nodes: [
    { id: 'begin', type: 'start' },
    { id: 'say', type: 'log', name: SCRIPT, config: { message: `${SCRIPT} ${LINK} {{input.text}}` } },
    { id: 'done', type: 'end', name: RTL, config: { output: '{{input}}' } },
  ],
  edges: [
    { source: 'begin', target: 'say' },
    { source: 'say', target: 'done' },
  ],
};

function deep(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let at = 0; at < levels; at += 1) value = { in: value };
  return value;
}

test('26 hostile payloads: nothing runs, numbers are exact, the page stays whole', async () => {
  await dev.api.post('/api/schemas', HOSTILE);
  const big = 'A'.repeat(1_000_000);
  const text = `{"schema": "hostile", "labels": {"note": ${JSON.stringify(SCRIPT)}}, "input": {"text": ${JSON.stringify(SCRIPT)}, "link": ${JSON.stringify(LINK)},
    "rtl": ${JSON.stringify(RTL)}, "most": 9223372036854775807, "least": -9223372036854775808, "__proto__": {"polluted": true},
    "constructor": {"prototype": {"polluted": true}}, "deep": ${JSON.stringify(deep(58))}}}`;
  const started = await dev.api.answer('POST', '/api/executions?wait=20s', text, { 'content-type': 'application/json' });
  expect(started.status).toBe(201);
  const run = (await started.json()) as { id: string; status: string };
  expect(run.status).toBe('completed');
  const page = await open(`${dev.url}/runs/${run.id}`);
  await statusIs(page, 'completed');
  await see(page, '9223372036854775807');
  await see(page, '-9223372036854775808');
  await see(page, '__proto__');
  await accessible(page, 'hostile run');
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
