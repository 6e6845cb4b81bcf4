import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, button, Dev, dialog, link, open, scrubber, see, statusIs, until } from '../harness';

const folder = mkdtempSync(join(tmpdir(), 'pawl-downloads-'));
let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(async () => {
  await dev.end();
  rmSync(folder, { recursive: true, force: true });
});

const LARGE = `
name: large
nodes:
  - { id: begin, type: start }
  - { id: make, type: variable_set, config: { variable: text, value: "{{input.text}}" } }
  - { id: done, type: end, config: { output: { text: "{{variables.text}}", exact: 9007199254740993, small: 1 } } }
edges:
  - { source: begin, target: make }
  - { source: make, target: done }
`;

async function saved(page: import('playwright-core').Page, press: () => Promise<void>) {
  const [file] = await Promise.all([page.waitForEvent('download'), press()]);
  const path = join(folder, file.suggestedFilename());
  await file.saveAs(path);
  return { name: file.suggestedFilename(), url: file.url(), text: await readFile(path, 'utf8') };
}

test('a payload is copied and downloaded whole; what is cut says how much of it is shown', async () => {
  await dev.api.save(LARGE);
  const text = `начало ${'0123456789'.repeat(30_000)} end`;
  const run = await dev.api.ended((await dev.api.start('large', { text })).id);
  const raw = await (await dev.api.answer('GET', `/api/executions/${run.id}/steps/${run.seq}`)).text();
  expect(raw).toContain('9007199254740993');
  const page = await open(`${dev.url}/runs/${run.id}?step=${run.seq}`);
  await button(page, 'Copy: Output').click();
  await see(page, 'Copied');
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain('"exact": 9007199254740993');
  expect((JSON.parse(copied) as { text: string }).text).toBe(text);

  const file = await saved(page, () => button(page, 'Download: Output').click());
  expect(file.text).toBe(copied);
  expect(file.name).toBe(`large-${run.id.slice(-8)}-step-${run.seq}-Output.json`);
  expect(file.url).toMatch(/^blob:/);

  const tree = page.getByRole('tree', { name: 'Output', exact: true });
  await tree.focus();
  await page.keyboard.press('ArrowDown');
  await see(tree, 'all 300 kB');
  await page.keyboard.press('Control+c');
  await until('the line was copied', async () => (await page.evaluate(() => navigator.clipboard.readText())) === text);
  await page.keyboard.press('Enter');
  await see(dialog(page), 'Shown: the first 66 kB of 300 kB');
  await accessible(page, 'a long text');
  const whole = await saved(page, () => button(dialog(page), 'Download the whole value').first().click());
  expect(whole.text).toBe(text);
  expect(whole.name).toMatch(/text\.txt$/);
  await page.keyboard.press('Escape');

  await page.getByRole('tab', { name: 'Context' }).click();
  await see(page, /\d+ values? (is|are) cut; /);
  const part = await saved(page, () =>
    page.getByRole('treeitem').getByRole('button', { name: 'Download the whole value' }).first().click(),
  );
  expect(part.text).toBe(text);
  const context = await saved(page, () => button(page, 'Download: Context').click());
  expect((JSON.parse(context.text) as { variables: { text: string } }).variables.text).toBe(text);
  await accessible(page, 'a cut context');
});

const KEYED = `
name: keyed
settings: { concurrency: { key: "{{input.customer}}", limit: 1 } }
nodes:
  - { id: begin, type: start }
  - { id: work, type: wait_event, config: { name: go, timeout: 1h } }
  - { id: done, type: end }
edges:
  - { source: begin, target: work }
  - { source: work, target: done }
`;

test('the facts of an explanation lead to the quota of a key and to who holds it; in Russian all of it is said', async () => {
  await dev.api.save(KEYED);
  const holder = await dev.api.start('keyed', { customer: 'ACME' });
  await dev.api.reaches(holder.id, 'waiting');
  const { id } = await dev.api.start('keyed', { customer: 'ACME' });
  const page = await open(`${dev.url}/runs/${id}`);
  await statusIs(page, 'pending');
  await button(page, /It waits for the quota key:keyed\/ACME/).click();
  const facts = page.getByRole('dialog', { name: 'Why it is where it is' });
  await link(facts, holder.id).waitFor();
  await accessible(page, 'facts of an explanation');
  await link(facts, 'key:keyed/ACME').first().click();
  await page.waitForURL('**/quotas/key/keyed%2FACME');
  await see(page, holder.id.slice(-8));
  await page.goto(`${dev.url}/runs/${id}`);
  await button(page, /It waits for the quota/).click();
  await link(facts, holder.id).click();
  await page.waitForURL(`**/runs/${holder.id}`);

  const russian = await open(`${dev.url}/runs/${id}`, { language: 'ru' });
  const said = button(russian, /Запуск ждёт квоты key:keyed\/ACME \(предел 1\)/);
  await said.waitFor();
  expect(await said.innerText()).toContain(holder.id);
  expect(await said.innerText()).toMatch(/, с [^.]*\d\d:\d\d:\d\d\. Он следующий в своей очереди\./);
  await said.click();
  await accessible(russian, 'facts in Russian');
  await russian.goto(`${dev.url}/runs/${holder.id}`);
  await see(russian, /Запуск ждёт на узле work события go, самое позднее до .*\d\d:\d\d:\d\d/);
});

const version = (more: string, edge: string) => `
name: grown
nodes:
  - { id: begin, type: start }
  - { id: first, type: variable_set, config: { variable: n, value: "{{input.n}}" } }
${more}
  - { id: done, type: end, config: { output: "{{variables.n}}" } }
edges:
  - { source: begin, target: first }
${edge}
`;

test('compare draws what only the other version has, where people put the nodes, and says what differs in the input', async () => {
  const { id: schema } = await dev.api.save(version('', '  - { source: first, target: done }'));
  await dev.api.put(`/api/schemas/${schema}/layout`, {
    positions: { begin: { x: 0, y: 0 }, first: { x: 300, y: 160 }, done: { x: 600, y: 0 } },
    notes: [],
    groups: [],
  });
  const old = await dev.api.ended((await dev.api.start('grown', { n: 1, who: 'ada' })).id);
  await dev.api.answer(
    'PUT',
    `/api/schemas/${schema}`,
    version(
      '  - { id: extra, type: variable_set, config: { variable: n, value: 7 } }',
      '  - { source: first, target: extra }\n  - { source: extra, target: done }',
    ),
    { 'if-match': '"1"' },
  );
  const fresh = await dev.api.ended((await dev.api.start('grown', { n: 2, who: 'ada' })).id);
  expect([old.version, fresh.version]).toEqual([1, 2]);
  const page = await open(`${dev.url}/runs/${old.id}/compare?with=${fresh.id}`);
  const card = (id: string) => page.locator(`.react-flow__node[data-id=${id}]`);
  await card('extra').getByText('R', { exact: true }).waitFor();
  const [begin, first] = [await card('begin').boundingBox(), await card('first').boundingBox()];
  expect((first?.y ?? 0) - (begin?.y ?? 0)).toBeGreaterThan(60);
  await button(page, '1 difference in what they were started with').click();
  const change = page.getByRole('listitem').filter({ hasText: '/input/n' });
  await change.first().waitFor();
  expect(await change.first().innerText()).toMatch(/1\s+2/);
  await accessible(page, 'compare two versions');
  // Of a run that did not fail the last good one is the partner too.
  await page.goto(`${dev.url}/runs/${fresh.id}/compare`);
  await link(page, old.id.slice(-8)).waitFor();
});

test('a run is forked into the debugger from any step, breakpoints are set in the gutter, and the parent leads to its forks', async () => {
  const parent = await dev.api.ended((await dev.api.start('grown', { n: 5 })).id);
  const page = await open(`${dev.url}/runs/${parent.id}?step=1`);
  await until('it stands after step 1', async () => (await scrubber(page)).now === 1);
  await page.locator('.react-flow__node[data-id=done]').getByRole('button', { name: 'Breakpoint before done' }).click();
  await button(page, 'Debug from here').click();
  expect(await dialog(page).getByRole('checkbox', { name: 'Start in the debugger' }).isChecked()).toBe(true);
  await button(dialog(page), 'Fork').click();
  await page.waitForURL((url) => !url.pathname.includes(parent.id));
  await statusIs(page, 'in the debugger');
  const id = new URL(page.url()).pathname.split('/')[2] ?? '';
  expect((await dev.api.run(id)).forked_from).toBe(parent.id);
  await button(page.getByRole('toolbar', { name: 'Debugger' }), 'To the breakpoint').click();
  await until('it stands before the breakpoint', async () => {
    const run = await dev.api.run(id);
    return run.status === 'waiting_debug' && run.current_node_id === 'done';
  });
  await accessible(page, 'a breakpoint');

  await page.goto(`${dev.url}/runs/${parent.id}`);
  await link(page, new RegExp(`1 fork.*${id.slice(-8)}`)).waitFor();
  await link(page, new RegExp(`1 fork.*${id.slice(-8)}`)).click();
  await page.waitForURL(`**/runs/${id}`);
  await statusIs(page, 'in the debugger');

  await page.keyboard.press('Control+k');
  await page.keyboard.type('Stop');
  await page
    .getByRole('option', { name: /^Stop\b(?! it)/ })
    .first()
    .click();
  await button(dialog(page), 'Stop').click();
  await statusIs(page, 'stopped');
  expect((await dev.api.run(id)).status).toBe('stopped');
});

test('the timeline has a row per visit, and a part that is drawn over fills the width', async () => {
  const run = await dev.api.ended((await dev.api.start('polling-loop')).id);
  const page = await open(`${dev.url}/runs/${run.id}`);
  const list = page.getByRole('list', { name: 'Timeline' });
  await list.getByRole('listitem').first().waitFor();
  const rows = page.getByRole('button', { name: 'A row per visit' });
  await rows.click();
  await page.waitForURL('**rows=visit*');
  const steps = await dev.api.get<{ items: { seq: number }[] }>(`/api/executions/${run.id}/steps?limit=100`);
  const last = steps.items.at(-1)?.seq ?? 0;
  await list.evaluate((element) => element.scrollTo(0, element.scrollHeight));
  await list.getByRole('button', { name: new RegExp(`#${last}\\b`) }).waitFor();
  await list.evaluate((element) => element.scrollTo(0, 0));
  await list.getByRole('button', { name: /#2/ }).click();
  await until('a click goes to the visit', async () => (await scrubber(page)).now === 2);

  const box = await list.boundingBox();
  if (box === null) throw new Error('the timeline is not in sight');
  const [left, wide, y] = [box.x + 196, box.width - 196 - 84, box.y + 12];
  await page.mouse.move(left + wide * 0.25, y);
  await page.mouse.down();
  await page.mouse.move(left + wide * 0.5, y, { steps: 4 });
  await page.mouse.up();
  await button(page, 'Show the whole').waitFor();
  expect((await scrubber(page)).now).toBe(2);
  await accessible(page, 'a zoomed timeline');
  await button(page, 'Show the whole').click();
  await see(page, 'Draw over a part to zoom in');
  await button(page, 'Zoom in, around the moment').press('Enter');
  await button(page, 'Show the whole').waitFor();
  await until('zooming out ends at the whole', async () => {
    if (await page.getByText('Draw over a part to zoom in').isVisible()) return true;
    await button(page, 'Zoom out, towards the whole').press('Enter');
    return false;
  });
});
