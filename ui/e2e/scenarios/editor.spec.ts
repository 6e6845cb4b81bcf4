import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { card, save, textOf } from '../editing';
import { accessible, button, Dev, dialog, expectFault, field, open, profile, see, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());
afterEach(() => dev.revive());

interface Stored {
  latest_version: number;
  source: string;
  definition: { nodes: { id: string; type: string; name?: string }[]; edges: { source: string; target: string; sourceHandle?: string }[] };
}

const stored = (name: string) => dev.api.get<Stored>(`/api/schemas/${name}`);

const COMMENTED = `# Greets the world, twice.
name: commented
nodes:
  # Where it begins.
  - { id: begin, type: start }
  - id: say
    type: log
    config: { message: "hello" } # A word.
  - { id: done, type: end }
edges:
  - { source: begin, target: say }
  - { source: say, target: done }
`;

test('4 a text with comments: a card is moved, a field changed, saved, reloaded; comments and places are there', async () => {
  await dev.api.save(COMMENTED);
  const page = await open(`${dev.url}/schemas/commented/edit?mode=split`);
  await card(page, 'say').click();
  await field(page, 'Id of the node').waitFor();
  await accessible(page, 'editor');
  const before = await card(page, 'say').boundingBox();
  await page.mouse.move((before?.x ?? 0) + 30, (before?.y ?? 0) + 20);
  await page.mouse.down();
  await page.mouse.move((before?.x ?? 0) + 60, (before?.y ?? 0) + 120, { steps: 6 });
  await page.mouse.up();
  await page.getByRole('tab', { name: 'Notes' }).click();
  await field(page, 'Name for people').fill('Says hello');
  await until('the code follows', async () => (await textOf(page)).includes('name: Says hello'));
  await save(page, 2);
  const saved = await stored('commented');
  expect(saved.latest_version).toBe(2);
  expect(saved.source).toContain('# Greets the world, twice.');
  expect(saved.source).toContain('# Where it begins.');
  expect(saved.source).toContain('# A word.');
  expect(saved.definition.nodes.find((node) => node.id === 'say')?.name).toBe('Says hello');
  const layout = await dev.api.get<{ positions: Record<string, { x: number; y: number }> }>('/api/schemas/commented/layout');
  expect(layout.positions.say).toBeDefined();
  await page.reload();
  await until('the same text', async () => (await textOf(page)).trim() === saved.source.trim());
  const at = async () =>
    Math.round((await card(page, 'say').boundingBox())?.y ?? 0) - Math.round((await card(page, 'begin').boundingBox())?.y ?? 0);
  expect(Math.abs(await at())).toBeGreaterThan(20);
});

test('8 two tabs save: the second is told, both changes are put together in v3', async () => {
  await dev.api.save(COMMENTED.replace('commented', 'shared'));
  const context = await profile();
  const [one, two] = [await context.newPage(), await context.newPage()];
  for (const [page, id, name] of [
    [one, 'say', 'First change'],
    [two, 'done', 'Second change'],
  ] as const) {
    await page.goto(`${dev.url}/schemas/shared/edit?mode=split`);
    await card(page, id).click();
    await page.getByRole('tab', { name: 'Notes' }).click();
    await field(page, 'Name for people').fill(name);
    await until('the code follows', async () => (await textOf(page)).includes(name));
  }
  await one.bringToFront();
  await save(one, 2);
  await two.bringToFront();
  await see(two, 'Another tab has saved v2');
  expectFault(/answer: 412/);
  await two.keyboard.press('Control+S');
  await button(dialog(two), 'Save and use').click();
  await see(two, 'Somebody saved meanwhile');
  await accessible(two, 'two versions are put together');
  await button(dialog(two), 'Put together').click();
  await until(
    'both are in the text',
    async () => (await textOf(two)).includes('First change') && (await textOf(two)).includes('Second change'),
  );
  if (await dialog(two).isVisible()) await button(dialog(two), 'Save and use').click();
  else await save(two, 3);
  await see(two, 'v3 is saved.');
  const names = (await stored('shared')).definition.nodes.map((node) => node.name);
  expect(names).toContain('First change');
  expect(names).toContain('Second change');
});

/** What the browser keeps of unsaved work. */
async function kept(page: Page): Promise<string> {
  return page.evaluate(async () => {
    const found: unknown[] = [];
    for (const { name } of await indexedDB.databases()) {
      if (name === undefined) continue;
      const database = await new Promise<IDBDatabase>((resolve, reject) => {
        const opening = indexedDB.open(name);
        opening.onsuccess = () => resolve(opening.result);
        opening.onerror = () => reject(opening.error);
      });
      for (const store of database.objectStoreNames) {
        const reading = database.transaction(store).objectStore(store).getAll();
        found.push(
          await new Promise((resolve) => {
            reading.onsuccess = () => resolve(reading.result);
          }),
        );
      }
      database.close();
    }
    return JSON.stringify(found);
  });
}

test('9 the server is killed while a schema is edited: the draft survives, and saving works after a restart', async () => {
  await dev.api.save(COMMENTED.replace('commented', 'drafted'));
  const page = await open(`${dev.url}/schemas/drafted/edit?mode=split`);
  await card(page, 'say').click();
  await page.getByRole('tab', { name: 'Notes' }).click();
  await field(page, 'Name for people').fill('Kept in the draft');
  await see(page, /unsaved \(draft/);
  expectFault(/request: net::ERR/);
  await dev.kill();
  await see(page, /The server does not answer/);
  await field(page, 'Name for people').fill('Kept in the draft, too');
  await until('the code follows', async () => (await textOf(page)).includes('Kept in the draft, too'));
  await until('the draft is kept', async () => (await kept(page)).includes('Kept in the draft, too'));
  await dev.up();
  await page
    .getByText(/The server does not answer/)
    .first()
    .waitFor({ state: 'hidden' });
  expect((await stored('drafted')).latest_version).toBe(1);
  // Without a reload: the page goes on where it was.
  await save(page, 2);
  expect((await stored('drafted')).definition.nodes.find((node) => node.id === 'say')?.name).toBe('Kept in the draft, too');
  await field(page, 'Name for people').fill('Kept in a third draft');
  await until('the draft is kept', async () => (await kept(page)).includes('Kept in a third draft'));
  page.on('dialog', (asked) => void asked.accept());
  await page.reload();
  await see(page, /A draft of .* was not saved/);
  await button(page, 'Go on with it').click();
  await until('the draft is on the screen', async () => (await textOf(page)).includes('Kept in a third draft'));
  await save(page, 3);
  expect((await stored('drafted')).definition.nodes.find((node) => node.id === 'say')?.name).toBe('Kept in a third draft');
});

const PAIR = `name: copied-from
nodes:
  - { id: begin, type: start }
  - { id: say, type: log, config: { message: "hello" } }
  - { id: again, type: log, config: { message: "{{steps.say.output}}" } }
  - { id: done, type: end }
edges:
  - { source: begin, target: say }
  - { source: say, target: again }
  - { source: again, target: done }
`;

test('7 copied in one tab, pasted in another: new ids, and expressions inside of the copy follow them', async () => {
  await dev.api.save(PAIR);
  await dev.api.save(COMMENTED.replace('commented', 'copied-to'));
  const context = await profile();
  const [from, to] = [await context.newPage(), await context.newPage()];
  await from.goto(`${dev.url}/schemas/copied-from/edit?mode=split`);
  await from.bringToFront();
  await card(from, 'say').click();
  await card(from, 'again').click({ modifiers: ['Shift'] });
  await from.getByRole('application').first().focus();
  await from.keyboard.press('Control+C');
  await to.bringToFront();
  await to.goto(`${dev.url}/schemas/copied-to/edit?mode=split`);
  await card(to, 'say').waitFor();
  const before = await textOf(to);
  await to.getByRole('application').first().focus();
  await to.keyboard.press('Control+V');
  await until('something was pasted', async () => (await textOf(to)) !== before);
  await button(to, /^0 problems$/).waitFor();
  await save(to, 2);
  const { definition } = await stored('copied-to');
  const logs = (definition.nodes as { id: string; type: string; config?: { message?: string } }[]).filter((node) => node.type === 'log');
  expect(logs).toHaveLength(3);
  const copy = logs.find((node) => node.config?.message === 'hello' && node.id !== 'say')?.id;
  expect(copy).toBeDefined();
  expect(logs.map((node) => node.config?.message)).toContain(`{{steps.${copy}.output}}`);
  expect(definition.edges.some((edge) => edge.source === copy)).toBe(true);
});
