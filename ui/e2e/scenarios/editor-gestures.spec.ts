// The editor by mouse, by keyboard alone, with mistakes, and back again: scenarios 2, 3, 5 and 6 of the design.
import type { Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { card, code, form, paste, save, textOf, write } from '../editing';
import { accessible, button, Dev, dialog, field, open, see, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());
afterEach(() => dev.revive());

interface Stored {
  latest_version: number;
  source: string;
  definition: {
    nodes: { id: string; type: string; name?: string; config?: Record<string, unknown> }[];
    edges: { source: string; target: string; sourceHandle?: string }[];
  };
}
const stored = (name: string) => dev.api.get<Stored>(`/api/schemas/${name}`);
const edgesOf = ({ definition }: Stored) =>
  definition.edges.map(({ source, target, sourceHandle = 'success' }) => `${source} ${sourceHandle} ${target}`).sort();

const BRANCHED = ['check false log_2', 'check true log', 'log success done', 'log_2 success done', 'start success check'];

/** The test run of the page: it is asked for, started, and ends on the canvas. */
async function testedIn(page: Page, schema: string, input: string, logged: string): Promise<void> {
  await see(page.getByRole('region', { name: 'Test run' }), 'completed');
  const { items } = await dev.api.get<{ items: { id: string }[] }>(`/api/executions?schema=${schema}&trial=true`);
  expect(items).toHaveLength(1);
  const run = await dev.api.get<{ initial: { input: unknown } }>(`/api/executions/${items[0]?.id}?include=initial`);
  expect(run.initial.input).toEqual(JSON.parse(input));
  const steps = await dev.api.get<{ items: { node_id: string; output: { message?: string } }[] }>(`/api/executions/${items[0]?.id}/steps`);
  expect(steps.items.find((step) => step.output.message !== undefined)?.output.message).toBe(logged);
}

async function middle(place: Locator): Promise<{ x: number; y: number }> {
  const box = await place.boundingBox();
  if (box === null) throw new Error('it is not on the screen');
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

async function drag(page: Page, from: { x: number; y: number }, to: { x: number; y: number }): Promise<void> {
  await page.mouse.move(from.x, from.y);
  await page.mouse.down();
  await page.mouse.move(to.x, to.y, { steps: 8 });
  await page.mouse.up();
}

/** An edge, drawn from an exit to the left side of another card. */
async function draw(page: Page, from: string, exit: string, to: string): Promise<void> {
  const start = await middle(card(page, from).locator(`.react-flow__handle.source[data-handleid="${exit}"]`));
  await drag(page, start, await middle(card(page, to).locator('.react-flow__handle.target')));
}

test('2 by mouse: five nodes from the palette, edges that are drawn, forms, saved and run from the page', async () => {
  const page = await open(`${dev.url}/new/schema`);
  await write(page, field(page, 'Name'), 'by-mouse');
  const canvas = page.getByRole('application').first();
  const types = page.getByRole('complementary', { name: 'Node types' });
  for (const [type, id, x, y] of [
    ['Condition', 'condition', 300, 520],
    ['Log', 'log', 620, 420],
    ['Log', 'log_2', 620, 640],
  ] as const) {
    await button(types, type).dragTo(canvas, { targetPosition: { x, y } });
    await card(page, id).waitFor();
    expect(Math.abs((await middle(card(page, id))).x - (((await canvas.boundingBox())?.x ?? 0) + x))).toBeLessThan(120);
  }
  await card(page, 'condition').click();
  await write(page, form(page).getByRole('textbox', { name: 'Id of the node' }), 'check');
  await page.keyboard.press('Enter');
  await card(page, 'check').waitFor();
  await draw(page, 'start', 'success', 'check');
  await draw(page, 'check', 'true', 'log');
  await draw(page, 'check', 'false', 'log_2');
  await draw(page, 'log', 'success', 'done');
  await draw(page, 'log_2', 'success', 'done');
  await card(page, 'check').click();
  await write(page, form(page).getByRole('textbox', { name: /^Expression/ }), 'input.n > 10');
  for (const [id, text] of [
    ['log', 'large: {{input.n}}'],
    ['log_2', 'small'],
  ] as const) {
    await card(page, id).click();
    await write(page, form(page).getByRole('textbox', { name: /^Message/ }), text);
  }
  await button(page, /^0 problems$/).waitFor();
  await accessible(page, 'a schema made by mouse');
  await button(page, 'Save v1').click();
  await button(dialog(page), 'Save and use').click();
  await page.waitForURL('**/schemas/by-mouse/edit*');
  const made = await stored('by-mouse');
  expect(made.definition.nodes.map((node) => node.type).sort()).toEqual(['condition', 'end', 'log', 'log', 'start']);
  expect(edgesOf(made)).toEqual(BRANCHED);
  await button(page, 'Test run').click();
  await write(page, dialog(page).getByRole('textbox', { name: 'Input (JSON)' }), '{ "n": 11 }');
  await button(dialog(page), 'Start').click();
  await testedIn(page, 'by-mouse', '{ "n": 11 }', 'large: 11');
});

/** Tab until the place has the focus. */
async function tabTo(page: Page, place: Locator, key = 'Tab'): Promise<void> {
  for (let at = 0; at < 120; at += 1) {
    if (await place.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press(key);
  }
  throw new Error('the focus never came there');
}

/** An arrow key until the canvas says that this node is selected. */
async function walkTo(page: Page, id: string, ...keys: string[]): Promise<void> {
  for (const key of keys) {
    await page.keyboard.press(key);
    if ((await page.locator('[role=application] > [role=img]').getAttribute('aria-label'))?.startsWith(`${id},`)) return;
  }
  throw new Error(`the arrows never came to ${id}`);
}

/** With `c`: the exit if it is not the first that is free, the target, Enter. */
async function connect(page: Page, exit: string, target: string): Promise<void> {
  await page.keyboard.press('c');
  await dialog(page).waitFor();
  const exits = dialog(page).getByRole('combobox', { name: 'Exit' });
  await tabTo(page, exits);
  await page.keyboard.type(exit);
  await tabTo(page, dialog(page).getByRole('combobox', { name: 'Leads to' }));
  await page.keyboard.type(target);
  await page.keyboard.press('Enter');
  await dialog(page).waitFor({ state: 'hidden' });
}

async function add(page: Page, type: string, id: string): Promise<void> {
  await page.keyboard.press('a');
  await page.keyboard.type(type);
  await page.keyboard.press('Enter');
  await card(page, id).waitFor();
}

async function fill(page: Page, name: RegExp | string, text: string): Promise<void> {
  await page.keyboard.press('Enter');
  await tabTo(page, form(page).getByRole('textbox', { name }));
  await page.keyboard.press('Control+A');
  await paste(page, text);
}

test('3 the same by keyboard alone, saved and run', async () => {
  const page = await open(`${dev.url}/new/schema`);
  const canvas = page.getByRole('application').first();
  const back = () => tabTo(page, canvas, 'Shift+Tab');
  await field(page, 'Name').waitFor();
  await tabTo(page, field(page, 'Name'));
  await page.keyboard.press('Control+A');
  await page.keyboard.type('by-keys');
  await back();
  await walkTo(page, 'start', 'ArrowRight');
  await add(page, 'condition', 'condition');
  // The focus is on the canvas again, and the new node is selected.
  expect(await canvas.evaluate((element) => element === document.activeElement)).toBe(true);
  await fill(page, /^Expression/, 'input.n > 10');
  await page.keyboard.press('Shift+Tab');
  await tabTo(page, field(page, 'Id of the node'), 'Shift+Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('check');
  await page.keyboard.press('Enter');
  await card(page, 'check').waitFor();
  await back();
  // Its exit `true` leads on to the end already; the first free one is `false`.
  await add(page, 'log', 'log');
  await connect(page, 'success', 'done');
  await fill(page, /^Message/, 'small');
  await tabTo(page, field(page, 'Id of the node'), 'Shift+Tab');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('log_2');
  await page.keyboard.press('Enter');
  await card(page, 'log_2').waitFor();
  await back();
  await page.keyboard.press('Escape');
  await add(page, 'log', 'log');
  await connect(page, 'success', 'done');
  await fill(page, /^Message/, 'large: {{input.n}}');
  await back();
  await walkTo(page, 'check', 'ArrowRight', 'ArrowLeft', 'ArrowLeft');
  await connect(page, 'true', 'log');
  await button(page, /^0 problems$/).waitFor();
  await page.keyboard.press('Control+S');
  await dialog(page).waitFor();
  await page.keyboard.press('Enter');
  await page.waitForURL('**/schemas/by-keys/edit*');
  const made = await stored('by-keys');
  expect(edgesOf(made)).toEqual(BRANCHED);
  expect(made.definition.nodes.find((node) => node.id === 'check')?.config).toEqual({ expression: 'input.n > 10' });
  await canvas.waitFor();
  await page.keyboard.press('Control+Enter');
  await tabTo(page, dialog(page).getByRole('textbox', { name: 'Input (JSON)' }));
  await page.keyboard.press('Control+A');
  await paste(page, '{ "n": 3 }');
  await tabTo(page, button(dialog(page), 'Start'));
  await page.keyboard.press('Enter');
  await testedIn(page, 'by-keys', '{ "n": 3 }', 'small');
});

const MISTAKEN = `name: mistaken
nodes:
  - { id: begin, type: start }
  - { id: rest, type: sleep, config: { duration: 5 apples } }
  - { id: check, type: condition, config: { expression: "input.n >" } }
  - { id: say, type: log, config: { message: "hi", levle: warn } }
  - { id: tell, type: log, config: { message: "{{steps.chek.output}}" } }
  - { id: done, type: ende }
edges:
  - { source: begin, target: rest }
  - { source: rest, target: check }
  - { source: check, target: say, sourceHandle: "true" }
  - { source: check, target: tell, sourceHandle: "false" }
  - { source: say, target: tell }
  - { source: tell, target: done }
`;

interface Found {
  severity: string;
  message: string;
  node_id?: string;
  line?: number;
}

test('5 five mistakes: badges, fields, lines and hints; one goes there, mends each, and saves', async () => {
  await dev.api.save(START.replace('name: undone', 'name: mistaken'));
  const page = await open(`${dev.url}/schemas/mistaken/edit?mode=split`);
  await code(page).waitFor();
  await write(page, code(page), MISTAKEN);
  const { diagnostics } = await dev.api.post<{ diagnostics: Found[] }>('/api/schemas/validate', MISTAKEN);
  const wrong = diagnostics.filter((one) => one.severity === 'error');
  expect(wrong.map((one) => one.node_id)).toEqual(['rest', 'check', 'say', 'tell', 'done']);
  await button(page, /^5 problems$/).click();
  expect(await page.title()).toMatch(/^\(5\)/);
  const panel = page.getByRole('region', { name: 'Problems' });
  for (const { message, node_id, line } of wrong) {
    const row = panel.getByRole('listitem').filter({ hasText: message.replaceAll('`', '') });
    await see(row, `${node_id} line ${line}`);
    // The badge of the card: a red edge for those who see, a word for those who do not.
    await card(page, node_id ?? '')
      .and(page.locator(':has([data-problem=error])'))
      .waitFor();
  }
  await accessible(page, 'editor with problems');
  const goTo = (text: string) => panel.getByRole('listitem').filter({ hasText: text }).getByRole('button').first().click();
  const mended = (n: number) => button(page, n === 1 ? '1 problem' : `${n} problems`).waitFor();
  const focused = (place: Locator) =>
    until('the field has the focus', () => place.evaluate((element) => element.contains(document.activeElement)));
  // One by its field, which has the focus and says what is wrong.
  await goTo('5 apples');
  const duration = form(page).locator('[data-field="/duration"]');
  await focused(duration);
  await see(duration, /is not a valid duration/);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('5s');
  await mended(4);
  await goTo('expected a value');
  const expression = form(page).locator('[data-field="/expression"]');
  await focused(expression);
  await page.keyboard.press('Control+A');
  await paste(page, 'input.n > 1');
  await mended(3);
  // Two by what the hint names, in the panel; one in the form.
  for (const [text, left] of [
    ['levle', 2],
    ['ende', 1],
  ] as const) {
    await panel
      .getByRole('listitem')
      .filter({ hasText: text })
      .getByRole('button', { name: /^Change to/ })
      .click();
    await mended(left);
  }
  await goTo('chek');
  await form(page).getByRole('button', { name: 'Change to check' }).click();
  await mended(0);
  await see(panel, 'The engine finds nothing wrong.');
  await save(page, 2);
  const { definition } = await stored('mistaken');
  expect(definition.nodes.map(({ type }) => type)).toEqual(['start', 'sleep', 'condition', 'log', 'log', 'end']);
  expect(definition.nodes.map(({ config }) => config)).toMatchObject([
    {},
    { duration: '5s' },
    { expression: 'input.n > 1' },
    { message: 'hi', level: 'warn' },
    { message: '{{steps.check.output}}' },
    {},
  ]);
});

const START = `# Greets the world, twice.
name: undone
nodes:
  # Where it begins.
  - { id: begin, type: start }
  - id: say
    type: log
    config: { message: "hello" } # A word.
  - { id: again, type: log, config: { message: "{{steps.say.output.message}}" } }
  - { id: done, type: end }
edges:
  - { source: begin, target: say }
  - { source: say, target: again }
  - { source: again, target: done }
`;

test('6 twenty gestures in canvas, form and code, undone: the text and the places of the start; and done again', async () => {
  await dev.api.save(START);
  const page = await open(`${dev.url}/schemas/undone/edit?mode=split`, { width: 1920, height: 1000 });
  await code(page).waitFor();
  const canvas = page.getByRole('application').first();
  const undo = button(page, 'Undo');
  const redo = button(page, 'Redo');
  const isOff = async (one: Locator) => (await one.getAttribute('aria-disabled')) !== null;
  /** What a person sees of it: the text, and where the cards stand. */
  const state = async () => {
    const places = await page
      .locator('.react-flow__node')
      .evaluateAll((cards) => cards.map((one) => `${one.getAttribute('data-id')} ${(one as HTMLElement).style.transform}`).sort());
    return JSON.stringify([await textOf(page), places]);
  };
  let start = '';
  // The text and the places come one after the other.
  await until('the cards stand', async () => {
    const before = start;
    start = await state();
    return start === before && (await page.locator('.react-flow__node').count()) === 4 && (await textOf(page)).trim() === START.trim();
  });
  const seen = new Set([start]);
  let count = 0;
  /** A gesture shows, and is something that was not there before. */
  const gesture = async (what: string, act: () => Promise<unknown>) => {
    const before = await state();
    await act();
    await until(`${what} shows`, async () => (await state()) !== before);
    count += 1;
    seen.add(await state());
  };
  const key = (name: string) => async () => {
    await canvas.focus();
    await page.keyboard.press(name);
  };
  /** All cards are in view, so that the mouse can take them. */
  const whole = key('0');
  const choose = async (id: string) => {
    await whole();
    await card(page, id).click();
    await field(page, 'Id of the node').waitFor();
  };
  const by = async (id: string, x: number, y: number) => {
    await whole();
    const at = await middle(card(page, id));
    await drag(page, at, { x: at.x + x, y: at.y + y });
  };
  await gesture('a move', () => by('say', 0, 90));
  await gesture('another move', () => by('done', 20, 60));
  await choose('say');
  await gesture('a nudge', key('Shift+ArrowDown'));
  await gesture('a larger nudge', key('Control+Shift+ArrowUp'));
  await gesture('disabling', key('d'));
  await gesture('enabling', key('d'));
  await gesture('a duplicate', key('Control+D'));
  await gesture('its removal', key('Delete'));
  await choose('again');
  await gesture('a node before', async () => {
    await key('Shift+A')();
    await page.keyboard.type('transform');
    await page.keyboard.press('Enter');
  });
  await gesture('a removal that joins', key('Control+Delete'));
  await whole();
  await gesture('an edge by mouse', () => draw(page, 'begin', 'success', 'again'));
  await choose('say');
  await gesture('another id', async () => {
    await write(page, field(page, 'Id of the node'), 'greet');
    await page.keyboard.press('Enter');
  });
  await choose('greet');
  await gesture('a field', () => write(page, form(page).getByRole('textbox', { name: /^Message/ }), 'good day'));
  await page.getByRole('tab', { name: 'Reliability' }).click();
  await gesture('a switch', () => form(page).getByRole('checkbox').last().click());
  await page.getByRole('tab', { name: 'Notes' }).click();
  await gesture('a name', () => field(page, 'Name for people').fill('Greets'));
  await gesture('words in the code', async () => {
    await code(page).click();
    await page.keyboard.press('Control+End');
    await paste(page, '\n# The end.\n');
  });
  await gesture('a removal in the code', async () => {
    await code(page).getByText('# A word.').dblclick();
    await page.keyboard.press('Delete');
  });
  await choose('again');
  await page.keyboard.down('Shift');
  await card(page, 'done').click();
  await page.keyboard.up('Shift');
  await gesture('one line', async () => button(page, 'Align at the top').click());
  await gesture('order', key('Shift+T'));
  await gesture('a copy', async () => {
    await key('Control+C')();
    await page.keyboard.press('Control+V');
  });
  expect(count).toBe(20);
  await accessible(page, 'after twenty gestures');
  const end = await state();
  for (let at = 0; at < 60 && !(await isOff(undo)); at += 1) await undo.click();
  await until('all is as it was', async () => (await state()) === start);
  expect(await isOff(undo)).toBe(true);
  await see(page, 'v1, saved');
  for (let at = 0; at < 60 && !(await isOff(redo)); at += 1) await redo.click();
  await until('all is done again', async () => (await state()) === end);
  expect(seen.size).toBeGreaterThan(15);
});
