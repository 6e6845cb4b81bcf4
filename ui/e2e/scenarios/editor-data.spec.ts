// Expressions and test runs of the editor: scenarios 10 and 11 of the design.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { card, form, save, write } from '../editing';
import { accessible, button, Dev, dialog, open, see, until } from '../harness';

/** The duration on a card: a busy machine may need a second for a node of code. */
const TOOK = /\d\s?m?s$/;

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());
afterEach(() => dev.revive());

const PRICED = `name: priced
nodes:
  - { id: begin, type: start }
  - { id: price, type: code, config: { source: "return { total: input.n, currency: 'EUR' };" } }
  - { id: tell, type: log, config: { message: "not yet" } }
  - { id: after, type: log, config: { message: "after" } }
  - { id: done, type: end }
edges:
  - { source: begin, target: price }
  - { source: price, target: tell }
  - { source: tell, target: after }
  - { source: after, target: done }
`;

interface Stepped {
  items: { node_id: string; output: { total?: number } }[];
}
const outputs = async (run: string) => (await dev.api.get<Stepped>(`/api/executions/${run}/steps`)).items;
const listed = async (query: string) => (await dev.api.get<{ items: { id: string }[] }>(`/api/executions?schema=priced${query}`)).items;

test('10 an expression: completed from the data of a test run, its result by the engine, a wrong path with a caret and a fix', async () => {
  await dev.api.save(PRICED.replace('name: priced', 'name: expressed'));
  await dev.api.ended((await dev.api.start('expressed', { n: 41 }, { trial: {} })).id);
  const page = await open(`${dev.url}/schemas/expressed/edit?node=tell`);
  const message = form(page).getByRole('textbox', { name: /^Message/ });
  await button(page, /, step 2, test/).waitFor();
  await message.click();
  await page.keyboard.press('Control+A');
  await page.keyboard.press('Delete');
  await page.keyboard.type('Sum {{steps.pri');
  const options = page.getByRole('option');
  // By click: an Enter so soon after the list opened is meant for the text, says CodeMirror.
  await options.filter({ hasText: 'price' }).click();
  await page.keyboard.type('.output.to');
  const total = options.filter({ hasText: 'total' }).filter({ hasText: '41' });
  await total.waitFor();
  await accessible(page, 'completion of an expression');
  await total.click();
  await until('the path is written', async () => /steps\.price\.output\.total/.test(await message.innerText()));
  if (!/\}\}$/.test(await message.innerText())) await page.keyboard.type('}}');
  const result = form(page).getByRole('status', { name: 'Result' });
  await see(result, '"Sum 41"');
  // A wrong name: where it is, what it is, and the way out.
  await write(page, message, 'Sum {{steps.price.output.totl}}');
  const fault = await see(result, /has no .?totl/);
  expect(await fault.isVisible()).toBe(true);
  const caret = result.locator('code').filter({ hasText: '^^^' });
  const [line, below] = (await caret.innerText()).split('\n');
  expect(line?.slice(below?.indexOf('^'), (below?.lastIndexOf('^') ?? 0) + 1)).toBe('steps.price.output.totl');
  await accessible(page, 'an expression with a wrong path');
  await button(result, /total/).click();
  await until('the fix is written', async () => (await message.innerText()) === 'Sum {{steps.price.output.total}}');
  await see(result, '"Sum 41"');
  // What the engine said is what the run does.
  await save(page, 2);
  const run = await dev.api.ended((await dev.api.start('expressed', { n: 41 })).id);
  const said = (await outputs(run.id)).find((step) => step.node_id === 'tell')?.output as { message?: string };
  expect(said.message).toBe('Sum 41');
});

test('a version that a test run stored is taken into use from the editor', async () => {
  const named = PRICED.replace('name: priced', 'name: tried');
  await dev.api.save(named);
  await dev.api.put('/api/schemas/tried?publish=false', named.replace('after" }', 'later" }'));
  const used = async () => (await dev.api.get<{ published_version: number }>('/api/schemas/tried')).published_version;
  const page = await open(`${dev.url}/schemas/tried/edit`);
  const use = button(page, 'Use v2');
  await use.waitFor();
  let published = 0;
  page.on('request', (request) => (published += Number(request.url().endsWith('/publish'))));
  // Only the button makes it live: Ctrl S is pressed by habit.
  await page.keyboard.press('Control+s');
  expect(await used()).toBe(1);
  await accessible(page, 'a version that is not used');
  await use.click();
  await see(page, 'v2 is what starts and triggers use now');
  expect(await used()).toBe(2);
  expect(published).toBe(1);
  await button(page, 'Save v3').waitFor();
});

test('11 up to a node with a pin: the tried output is pinned and used; its data feed the form; the real run shows no pin', async () => {
  await dev.api.save(PRICED);
  const page = await open(`${dev.url}/schemas/priced/edit?node=price`);
  await form(page).waitFor();
  await see(page, 'no data yet');
  // The node by itself, with an input: what comes of it is pinned.
  await page.keyboard.press('Control+Enter');
  await dialog(page).getByRole('combobox').selectOption({ label: 'Only price' });
  await write(page, dialog(page).getByRole('textbox', { name: 'Input (JSON)' }), '{ "n": 7 }');
  await button(dialog(page), 'Start').click();
  const panel = page.getByRole('region', { name: 'Test run' });
  await see(panel, 'EUR');
  await accessible(page, 'the result of a tried node');
  await button(panel, 'Pin the output').click();
  await button(panel, 'Remove the pin').waitFor();
  const { items } = await dev.api.get<{ items: { node: string }[] }>('/api/schemas/priced/pins');
  expect(items.map((pin) => pin.node)).toEqual(['price']);
  expect((await dev.api.get<{ output: unknown }>('/api/schemas/priced/pins/price')).output).toEqual({ total: 7, currency: 'EUR' });
  await button(panel, 'Back to editing').click();
  await card(page, 'price').getByLabel('output pinned for test runs').waitFor();
  // Up to the next one, with another input: the pin stands in.
  await card(page, 'tell').click();
  await page.keyboard.press('Control+Enter');
  await dialog(page).getByRole('combobox').selectOption({ label: 'Up to tell' });
  await write(page, dialog(page).getByRole('textbox', { name: 'Input (JSON)' }), '{ "n": 1 }');
  await button(dialog(page), 'Start').click();
  await see(panel, 'completed');
  await card(page, 'tell').getByText(TOOK).waitFor();
  await card(page, 'price').getByLabel('output pinned for test runs').waitFor();
  expect(await card(page, 'after').getByText(TOOK).count()).toBe(0);
  await accessible(page, 'a test run on the canvas');
  const [trial] = await listed('&trial=true');
  expect((await outputs(trial?.id ?? '')).map((step) => step.node_id)).toEqual(['begin', 'price', 'tell']);
  expect((await outputs(trial?.id ?? ''))[1]?.output.total).toBe(7);
  await card(page, 'after').click();
  await see(panel, 'The run has not come to after.');
  // Its data are in the form of the node, and in the chip.
  await button(panel, 'Back to editing').click();
  await card(page, 'tell').click();
  const chip = button(page, new RegExp(`…${trial?.id.slice(-4)}, step 2, test`));
  await chip.waitFor();
  await page.getByRole('tab', { name: 'Last data' }).click();
  await form(page).getByText('price', { exact: true }).waitFor();
  await accessible(page, 'last data');
  // A step is chosen.
  await chip.click();
  await page.getByRole('menuitem', { name: 'Choose a step' }).click();
  await accessible(page, 'the steps of the data');
  await dialog(page).getByText('begin', { exact: true }).click();
  await until(
    'the address says so',
    async () => page.url().includes(`data=${trial?.id}%3A1`) || page.url().includes(`data=${trial?.id}:1`),
  );
  await button(page, /, step 1, test/).waitFor();
  await form(page).getByText('price', { exact: true }).waitFor({ state: 'hidden' });
  // A real run computes: the pin is the editor's only.
  const real = await dev.api.ended((await dev.api.start('priced', { n: 3 })).id);
  expect((await outputs(real.id))[1]?.output.total).toBe(3);
  expect((await listed('')).map((run) => run.id)).toEqual([real.id]);
  await page.goto(`${dev.url}/runs/${real.id}`);
  await card(page, 'price').getByText(TOOK).waitFor();
  expect(await page.getByLabel('output pinned for test runs').count()).toBe(0);
});
