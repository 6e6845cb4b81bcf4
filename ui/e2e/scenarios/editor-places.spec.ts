// Where things are in the editor: adding at a place, order, badges; the list in place of the picture; small screens.
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { card, form, save } from '../editing';
import { accessible, button, Dev, dialog, field, link, open, see, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());
afterEach(() => dev.revive());

const PLACED = `name: placed
nodes:
  - { id: begin, type: start }
  - { id: check, type: condition, config: { expression: "true" } }
  - { id: one, type: log, config: { message: "one" } }
  - { id: two, type: log, entry: true, config: { message: "two" } }
  - { id: done, type: end }
edges:
  - { source: begin, target: check }
  - { source: check, target: one, sourceHandle: "true" }
  - { source: one, target: two }
  - { source: two, target: done }
`;

const box = async (page: Page, id: string) => {
  const found = await card(page, id).boundingBox();
  if (found === null) throw new Error(`${id} is not on the screen`);
  return found;
};
const near = (a: number, b: number) => expect(Math.abs(a - b)).toBeLessThan(60);

test('the address of the next screen keeps nothing of the editor that is left', async () => {
  await dev.api.save(PLACED.replace('name: placed', 'name: left'));
  const page = await open(`${dev.url}/schemas/left/edit`);
  await card(page, 'one').click();
  await page.waitForURL('**/edit?node=one');
  await link(page, 'Runs').first().click();
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  expect(new URL(page.url()).search).toBe('');
});

test('a double click and `a` add where the pointer is; Tidy keeps to the selection; exits that end, entries', async () => {
  await dev.api.save(PLACED);
  const page = await open(`${dev.url}/schemas/placed/edit`);
  await card(page, 'two').waitFor();
  expect(await card(page, 'two').getByLabel('runs can start here').count()).toBe(1);
  expect(await card(page, 'one').getByLabel('runs can start here').count()).toBe(0);
  expect(await card(page, 'check').getByTitle('false: ends here').count()).toBe(1);
  expect(await page.getByTitle('true: ends here').count()).toBe(0);
  const menu = page.getByRole('dialog', { name: 'Add a node' });
  const canvas = await page.getByRole('application').first().boundingBox();
  const at = { x: (canvas?.x ?? 0) + 400, y: (canvas?.y ?? 0) + 120 };
  await page.mouse.dblclick(at.x, at.y);
  await menu.waitFor();
  near((await menu.boundingBox())?.x ?? 0, at.x);
  near((await menu.boundingBox())?.y ?? 0, at.y);
  await page.keyboard.type('sleep');
  await page.keyboard.press('Enter');
  await card(page, 'sleep').waitFor();
  near((await box(page, 'sleep')).x, at.x);
  near((await box(page, 'sleep')).y, at.y);
  // Behind the selected node, and the menu beside its card.
  await page.keyboard.press('a');
  near((await menu.boundingBox())?.x ?? 0, (await box(page, 'sleep')).x + (await box(page, 'sleep')).width);
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'hidden' });
  // Without a selection at the pointer.
  const other = { x: at.x + 200, y: at.y + 480 };
  await page.mouse.click(other.x, other.y);
  await field(page, 'Description').waitFor();
  await page.mouse.move(other.x + 4, other.y + 4);
  await page.keyboard.press('a');
  await menu.waitFor();
  near((await menu.boundingBox())?.x ?? 0, other.x);
  await page.keyboard.type('math');
  await page.keyboard.press('Enter');
  await card(page, 'math').waitFor();
  near((await box(page, 'math')).y, other.y);
  // Only what is selected is put in order.
  const before = await box(page, 'math');
  await card(page, 'one').click();
  await page.keyboard.press('Control+Shift+ArrowDown');
  await page.keyboard.press('Control+Shift+ArrowDown');
  await until('one is lower than two', async () => (await box(page, 'one')).y > (await box(page, 'two')).y + 30);
  await card(page, 'two').click({ modifiers: ['Shift'] });
  await button(page, 'Duplicate').waitFor();
  await page.keyboard.press('Shift+T');
  await until('one stands beside two', async () => Math.abs((await box(page, 'one')).y - (await box(page, 'two')).y) < 2);
  expect(await box(page, 'math')).toEqual(before);
});

test('the editor as a list: the same nodes, keys and forms; it comes first where there is no room', async () => {
  await dev.api.save(PLACED.replace('name: placed', 'name: as-list'));
  const page = await open(`${dev.url}/schemas/as-list/edit`);
  const canvas = page.getByRole('application').first();
  await canvas.focus();
  await page.keyboard.press('o');
  const tree = page.getByRole('tree', { name: 'Canvas of as-list' });
  await tree.waitFor();
  expect(page.url()).toContain('view=outline');
  expect(await tree.evaluate((element) => element === document.activeElement)).toBe(true);
  await accessible(page, 'editor as a list');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  await until('the form of the node is there', async () => (await field(page, 'Id of the node').inputValue()) === 'one');
  await page.keyboard.press('a');
  await page.keyboard.type('sleep');
  await page.keyboard.press('Enter');
  await tree.getByRole('treeitem', { name: /^sleep/ }).waitFor();
  expect(await tree.evaluate((element) => element === document.activeElement)).toBe(true);
  await page.keyboard.press('Enter');
  await until('its form has the focus', () => form(page).evaluate((element) => element.contains(document.activeElement)));
  await save(page, 2);
  const { definition } = await dev.api.get<{ definition: { edges: { source: string; target: string }[] } }>('/api/schemas/as-list');
  expect(definition.edges.filter(({ source, target }) => source === 'sleep' || target === 'sleep')).toMatchObject([
    { source: 'one', target: 'sleep' },
    { source: 'sleep', target: 'two' },
  ]);
  await page.reload();
  await tree.waitFor();
  await button(page, 'As a picture').click();
  await card(page, 'sleep').waitFor();
  // A small screen: the list first, a picture to look at, the form below.
  const small = await open(`${dev.url}/schemas/as-list/edit`, { width: 640, height: 900 });
  const list = small.getByRole('tree', { name: 'Canvas of as-list' });
  await list.waitFor();
  await list.getByText('one', { exact: true }).first().click();
  await until('the form is there', async () => (await field(small, 'Id of the node').inputValue()) === 'one');
  await accessible(small, 'editor on a small screen');
  await button(small, 'As a picture').click();
  await card(small, 'one').waitFor();
  const first = await box(small, 'one');
  await small.mouse.move(first.x + 20, first.y + 10);
  await small.mouse.down();
  await small.mouse.move(first.x + 60, first.y + 50, { steps: 5 });
  await small.mouse.up();
  await small.keyboard.press('Control+S');
  expect(await dialog(small).count()).toBe(0);
  expect(await small.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(640);
});

test('the dialog of saving shows the change as a picture and as a list', async () => {
  await dev.api.save(PLACED.replace('name: placed', 'name: pictured'));
  const page = await open(`${dev.url}/schemas/pictured/edit`);
  await card(page, 'one').click();
  await field(page, 'Id of the node').waitFor();
  await page.keyboard.press('Delete');
  await card(page, 'one').waitFor({ state: 'detached' });
  await card(page, 'two').click();
  await page.keyboard.press('d');
  await page.keyboard.press('Control+S');
  // The note has the focus: Enter there saves.
  await until('the note has the focus', () => field(page, 'Note').evaluate((element) => element === document.activeElement));
  const picture = dialog(page).getByRole('application', { name: 'Changes as a picture' });
  const shown = picture.locator('.react-flow__node');
  await shown
    .filter({ has: page.locator('[data-node=one]') })
    .getByText('−', { exact: true })
    .waitFor();
  await shown
    .filter({ has: page.locator('[data-node=two]') })
    .getByText('~', { exact: true })
    .waitFor();
  expect(await shown.count()).toBe(5);
  await accessible(page, 'saving with a picture');
  await shown.filter({ has: page.locator('[data-node=two]') }).click();
  const list = dialog(page).getByRole('list', { name: 'Changes' });
  expect(await list.locator('[aria-current]').innerText()).toContain('two');
  // Letters are for the picture now, not for the editor behind it.
  await page.keyboard.press('d');
  await button(dialog(page), 'Save and use').click();
  await see(page, 'v2 is saved.');
  const { definition } = await dev.api.get<{ definition: { nodes: { id: string; disabled: boolean }[] } }>('/api/schemas/pictured');
  expect(definition.nodes.map(({ id, disabled }) => `${id} ${disabled}`)).toEqual(['begin false', 'check false', 'two true', 'done false']);
});
