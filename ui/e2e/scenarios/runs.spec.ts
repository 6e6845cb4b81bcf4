import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Run } from '../api';
import { accessible, button, Dev, dialog, expectFault, field, gone, open, profile, see, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
  await dev.api.save(TYPED);
});
afterAll(() => dev.end());

const FAILS = `
name: fails-first
nodes:
  - { id: begin, type: start }
  - { id: check, type: condition, config: { expression: "{{input.ok}} == true" } }
  - { id: done, type: end }
edges:
  - { source: begin, target: check }
  - { source: check, target: done, sourceHandle: "true" }
`;

async function many(count: number): Promise<void> {
  const queue = Array.from({ length: count }, (_, at) => at);
  const lane = async () => {
    for (let at = queue.pop(); at !== undefined; at = queue.pop()) await dev.api.start('fails-first', {});
  };
  await Promise.all(Array.from({ length: 8 }, lane));
}

const TYPED = `
name: typed-input
input:
  type: object
  required: [order_id, lane]
  properties:
    order_id: { type: integer, title: Order number, description: As the shop wrote it, minimum: 1 }
    lane: { enum: [fast, slow], default: fast, title: Lane }
    code: { type: string }
    address: { type: object, required: [city] }
nodes:
  - { id: begin, type: start }
  - { id: done, type: end, config: { output: "{{input}}" } }
edges:
  - { source: begin, target: done }
`;

const shown = (page: import('playwright-core').Page) => page.getByRole('grid').first().getByRole('row');

test('19 runs list: the filter is in the address, back and forward, reload, another browser; new rows wait', async () => {
  const ok = await dev.api.ended((await dev.api.start('order-check')).id);
  const waits = await dev.api.start('approval', { amount: 900, patience: '1h' });
  await dev.api.reaches(waits.id, 'waiting');
  const page = await open(`${dev.url}/runs`);
  await see(page, ok.id.slice(-8));
  await see(page, waits.id.slice(-8));
  await accessible(page, 'runs');
  await page.getByRole('button', { name: /^waiting/ }).click();
  await page.waitForURL('**/runs?status=waiting');
  await page.getByText(ok.id.slice(-8)).first().waitFor({ state: 'detached' });
  await see(page, waits.id.slice(-8));
  await page.goBack();
  await see(page, ok.id.slice(-8));
  await page.goForward();
  await page.getByText(ok.id.slice(-8)).first().waitFor({ state: 'detached' });
  await page.reload();
  await see(page, waits.id.slice(-8));
  expect(await page.getByText(ok.id.slice(-8)).count()).toBe(0);
  const other = await (await profile()).newPage();
  await other.goto(page.url());
  await see(other, waits.id.slice(-8));
  expect(await other.getByText(ok.id.slice(-8)).count()).toBe(0);

  await page.goto(`${dev.url}/runs`);
  await see(page, ok.id.slice(-8));
  const fresh = await dev.api.ended((await dev.api.start('order-check')).id);
  const bar = page.getByRole('button', { name: /1 new run/ });
  await bar.waitFor();
  expect(await page.getByText(fresh.id.slice(-8)).count()).toBe(0);
  await bar.click();
  await see(page, fresh.id.slice(-8));

  await page.goto(`${dev.url}/runs?status=failed`);
  await see(page, /0 of .* fit the filter/);
  await accessible(page, 'runs, none fit');
});

test('a filter is saved in the browser, used again and removed; the key of actions goes to their bar', async () => {
  const run = await dev.api.ended((await dev.api.start('order-check', {}, { labels: { team: 'night' } })).id);
  const page = await open(`${dev.url}/runs?label=team:night&longer_than=1ms&finished_since=1h&version=1&sel=${run.id}`);
  await see(page, run.id.slice(-8));
  const menu = button(page, 'What to do with this filter');
  await menu.click();
  await page.getByRole('menuitem', { name: 'Save this filter' }).click();
  await field(dialog(page), 'Name').fill('Nightly <b>');
  await accessible(page, 'save a filter');
  await button(dialog(page), 'Save').click();
  await page.goto(`${dev.url}/runs`);
  await menu.click();
  await page.getByRole('menuitem', { name: 'Nightly <b>' }).click();
  await page.waitForURL((url) => url.search === '?label=team:night&version=1&longer_than=1ms&finished_since=1h');
  const row = page.getByRole('row').filter({ hasText: run.id.slice(-8) });
  await row.waitFor();
  await page.keyboard.press('.');
  const plain = await row.getAttribute('class');
  await page.getByRole('grid').press('j');
  // A later key shows what it does, so the one before would have, too.
  await until('the row is the current one', async () => (await row.getAttribute('class')) !== plain);
  expect(await page.getByRole('region', { name: 'Actions on the selected runs' }).count()).toBe(0);
  await page.keyboard.press('.');
  await until('the bar of actions has the focus', async () => button(page, 'Retry').evaluate((one) => one === document.activeElement));
  expect(await row.getByRole('checkbox').isChecked()).toBe(true);
  await page.keyboard.press('?');
  await dialog(page).waitFor();
  await page.keyboard.press('Escape');
  await gone(dialog(page));
  await page.goto(`${dev.url}/settings`);
  await button(page, 'Remove the filter Nightly <b>').click();
  await see(page, /None yet/);
});

test('20 a bulk action on ticked runs is about nothing after a reload, never about everything', async () => {
  const one = await dev.api.start('approval', { amount: 900, patience: '1h' });
  const two = await dev.api.start('approval', { amount: 901, patience: '1h' });
  for (const run of [one, two]) await dev.api.reaches(run.id, 'waiting');
  const page = await open(`${dev.url}/runs?schema=approval`);
  await see(page, one.id.slice(-8));
  await page
    .getByRole('row')
    .filter({ hasText: one.id.slice(-8) })
    .getByRole('checkbox')
    .click();
  await button(page.getByRole('region', { name: 'Actions on the selected runs' }), 'Stop').click();
  await see(dialog(page), /1 open run will be stopped/);
  const about = page.url();
  await page.reload();
  await see(page, 'Nothing was done: the selection is gone. Select the runs again.');
  expect(await dialog(page).count()).toBe(0);
  await until('the address forgets the action', async () => !page.url().includes('bulk'));
  await page.goto(`${dev.url}/runs?schema=approval&bulk=stop`);
  await see(page, 'Nothing was done: the selection is gone. Select the runs again.');
  expect(about).toContain('bulk=stop');

  // What is about the filter says so in its address, and still is after a reload.
  await page.goto(`${dev.url}/runs?schema=approval&bulk=pause&of=filter`);
  await see(dialog(page), /open runs will be paused/);
  await page.reload();
  await see(dialog(page), /open runs will be paused/);
  for (const run of [one, two]) expect((await dev.api.run(run.id)).status).toBe('waiting');
});

test('20 bulk retry of 250: the count first, the number typed, the outcome adds up', async () => {
  await dev.api.save(FAILS);
  await many(250);
  const failed = () => dev.api.get<{ total: number }>('/api/executions/counts?status=failed&schema=fails-first');
  await until('250 have failed', async () => (await failed()).total === 250);
  const page = await open(`${dev.url}/runs?status=failed&schema=fails-first`);
  await until('the list is there', async () => (await shown(page).count()) > 5);
  await page.getByRole('checkbox').nth(1).click();
  await page.getByRole('button', { name: /All 250 that fit/ }).click();
  await button(page.getByRole('region', { name: 'Actions on the selected runs' }), 'Retry').click();
  await see(dialog(page), /250 failed or stopped runs will be repeated/);
  await accessible(page, 'bulk retry');
  const go = button(dialog(page), 'Retry 250 runs');
  expect(await go.getAttribute('aria-disabled')).toBe('true');
  await dialog(page).getByRole('textbox').fill('250');
  await go.click();
  await see(dialog(page), 'Finished: 250 runs handled.');
  const done = dialog(page)
    .locator('dt', { hasText: /^done$/ })
    .locator('xpath=following-sibling::dd[1]');
  expect(await done.innerText()).toBe('250');
  await button(dialog(page), 'Close').first().click();
  await until('there are 250 retries', async () => {
    const page500 = await dev.api.get<{ items: Run[] }>('/api/executions?schema=fails-first&limit=500');
    return page500.items.filter((run) => run.retry_of !== null).length === 250;
  });
});

test('the start form has the fields that the schema declares, and says at them what the engine refuses', async () => {
  expectFault(/answer: 422 POST .*\/api\/executions$/);
  const page = await open(`${dev.url}/runs?start=1&schema=typed-input`);
  await see(dialog(page), 'As the shop wrote it');
  const number = dialog(page).getByRole('textbox', { name: /^Order number/ });
  const lane = dialog(page).getByRole('combobox', { name: /^Lane/ });
  // The engine fills in no default: the form begins with it.
  await until('the default is chosen', async () => (await lane.inputValue()) === '0');
  await accessible(page, 'start form of declared fields');
  await number.fill('0');
  await lane.selectOption('slow');
  await dialog(page).getByRole('textbox', { name: 'code' }).fill('0017');
  await dialog(page).getByRole('textbox', { name: 'address' }).fill('{}');
  await button(dialog(page), 'Start').click();
  await see(dialog(page), 'it must be at least 1');
  await see(dialog(page), '`city` is missing');
  await until('the first wrong field has the focus', async () => number.evaluate((field) => field === document.activeElement));
  await accessible(page, 'start form with problems');
  await number.fill('9007199254740993');
  await gone(dialog(page).getByText('it must be at least 1'));
  await dialog(page).getByRole('textbox', { name: 'address' }).fill('{"city": "Oslo"}');
  await button(dialog(page), 'Copy for the terminal').click();
  await page.getByRole('menuitem', { name: 'Copy as command' }).click();
  await until('the line is in the clipboard', async () =>
    (await page.evaluate(() => navigator.clipboard.readText())).includes(
      'pawl executions start typed-input --input \'{"lane":"slow","order_id":9007199254740993,"code":"0017"',
    ),
  );
  await button(dialog(page), 'Start').click();
  await page.waitForURL(/\/runs\/[0-9a-f-]{36}/);
  const id = page.url().match(/[0-9a-f-]{36}/)?.[0] ?? '';
  await dev.api.ended(id);
  const text = await (await dev.api.answer('GET', `/api/executions/${id}`)).text();
  expect(text).toMatch(/"order_id":9007199254740993\b/);
  expect(text).toContain('"code":"0017"');
});

/** The same as 1280 px at a zoom of 400 %, and more than 200 % of any window asks for. */
const NARROW = { width: 320, height: 640 } as const;

/** What reaches beyond the window and is in no scroll area of its own. */
async function overflow(page: import('playwright-core').Page): Promise<string[]> {
  return page.evaluate(() => {
    const wide = (document.scrollingElement?.scrollWidth ?? 0) > innerWidth ? ['the page scrolls to the side'] : [];
    const scrolls = (element: Element) => /auto|scroll/.test(getComputedStyle(element).overflowX);
    const clipped = [...document.querySelectorAll('body *')].filter((element) => {
      const box = element.getBoundingClientRect();
      if (box.width <= 1 || box.height <= 1 || (box.right <= innerWidth + 1 && box.left >= -1)) return false;
      if (element.closest('.sr, [aria-hidden=true], svg') || getComputedStyle(element).visibility === 'hidden') return false;
      for (let up = element.parentElement; up && up !== document.body; up = up.parentElement) if (scrolls(up)) return false;
      return true;
    });
    const names = clipped.slice(0, 5).map((element) => `${element.tagName} ${element.className} ${element.textContent?.slice(0, 40)}`);
    return [...wide, ...names];
  });
}

test.each(['en', 'ru'] as const)('320 px, %s: nothing is lost on any screen but the canvas', async (language) => {
  const run = await dev.api.ended((await dev.api.start('order-check', {}, { labels: { team: 'a-rather-long-name-of-a-team' } })).id);
  await dev.api.put('/api/quotas/schema/order-check', { limit: 5, rate: '100/s' });
  await dev.api.put('/api/scheduled-actions/narrow', {
    spec: { policy: { periodic: { period: '15m' } }, action: { start_execution: { schema: 'order-check' } } },
    override: 'all',
  });
  const short = run.id.slice(-8);
  // With something of its content in either language: an empty page loses nothing.
  const screens: [string, string | RegExp][] = [
    ['/', 'narrow'],
    ['/runs', short],
    [`/runs?sel=${run.id}`, 'team:a-rather-long-name-of-a-team'],
    ['/runs?status=failed&tenant=nobody&longer_than=1h&since=24h', /^0 of \d+ runs fit the filter$|^Фильтру отвечают 0 из \d+$/],
    ['/runs?start=1&schema=typed-input', 'As the shop wrote it'],
    ['/runs?bulk=retry&of=filter', /^\d+ failed or stopped runs|^\d+ неудачных или остановленных/],
    ['/schedules', 'narrow'],
    ['/schedules/narrow', /\+00:00$/],
    ['/schedules/narrow?edit=1', /30s, 15m, 2h, 1d/],
    ['/new/schedule', /@hourly/],
    ['/dead-letters', /^No dead letters$|^Недоставленных сообщений нет$/],
    ['/workers', /^\d+ of 256 in use|^занято \d+ из 256/],
    ['/quotas', 'order-check'],
    ['/quotas/schema/order-check', '100/s'],
    ['/doctor', /^Nothing was examined yet$|^Проверки ещё не было$/],
    ['/keys', /pawl dev/],
    ['/settings', /^0\.\d+\.\d+$/],
    ['/nowhere', /\/nowhere/],
  ];
  const lost: string[] = [];
  const page = await open(`${dev.url}/settings`, { ...NARROW, language });
  for (const [screen, content] of screens) {
    await page.goto(dev.url + screen);
    await page.locator('main h1').first().waitFor();
    await until(`${screen} is loaded`, async () => (await page.locator('main [role=status][aria-label]').count()) === 0);
    const place = /start=|bulk=/.test(screen) ? dialog(page) : page.locator('main');
    await place.getByText(content).filter({ visible: true }).first().waitFor();
    for (const what of await overflow(page)) lost.push(`${screen}: ${what}`);
  }
  if (lost.length > 0) throw new Error(lost.join('\n'));
});

test('the workers page charts what this server does since the page was opened', async () => {
  const page = await open(`${dev.url}/workers`);
  const chart = page.getByRole('img', { name: /^Runs per second: started [\d.,]+, ended [\d.,]+$/ });
  await chart.locator('canvas').waitFor({ timeout: 30_000 });
  await dev.api.ended((await dev.api.start('order-check')).id);
  await page.getByRole('img', { name: /^Runs per second: started 0\.[1-9]/ }).waitFor();
  const memory = (await (await dev.api.answer('GET', '/metrics')).text()).match(/^pawl_process_resident_memory_bytes (\S+)/m)?.[1];
  expect(Number(memory)).toBeGreaterThan(0);
  await page.getByRole('img', { name: /^Memory: Memory \d+ MB$/ }).waitFor();
  await accessible(page, 'workers with charts');
});
