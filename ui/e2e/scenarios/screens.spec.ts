import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { violations } from '../axe';
import { button, Dev, expectFault, open, profile, until } from '../harness';
import { prepare, type Screen, screens } from '../screens';

let dev: Dev;
let all: Screen[];
beforeAll(async () => {
  dev = await Dev.start();
  all = screens(await prepare(dev));
});
afterAll(() => dev.end());

const LOOKS = [
  { theme: 'light', language: 'en' },
  { theme: 'dark', language: 'en' },
  { theme: 'dark', language: 'ru' },
  { theme: 'light', language: 'ru' },
] as const;

async function settled(page: Page): Promise<void> {
  await page.locator('main').locator('h1, form, [role=alert]').first().waitFor();
  await until('nothing is loading any more', async () => (await page.locator('[role=status][aria-label]').count()) === 0);
}

/** Every other screen, from `first` on, in a browser of its own; what was found. */
async function walk(first: number): Promise<string[]> {
  const context = await profile();
  const page = await context.newPage();
  // What is set in one tab holds in the others: the looks change without a click on the screen that is looked at.
  const other = await context.newPage();
  await other.goto(`${dev.url}/health/live`);
  await page.goto(dev.url);
  await page.bringToFront();
  const look = async (at: (typeof LOOKS)[number]) => {
    await other.evaluate((kept) => localStorage.setItem('pawl.preferences', kept), JSON.stringify(at));
    await page.waitForFunction(
      ({ theme, language }) => document.documentElement.dataset.theme === theme && document.documentElement.lang === language,
      at,
    );
  };
  const found: string[] = [];
  for (const { name, path, act } of all.filter((_screen, at) => at % LANES === first)) {
    try {
      await look(LOOKS[0]);
      await page.goto(dev.url + path);
      await settled(page);
      await act?.(page);
      for (const one of LOOKS) {
        await look(one);
        for (const told of await violations(page)) found.push(`${name}, ${one.theme}, ${one.language}: ${told}`);
      }
    } catch (thrown) {
      found.push(`${name}: ${thrown}`);
      const dir = process.env.E2E_SHOTS;
      if (dir) await page.screenshot({ path: `${dir}/screen-${name.replaceAll(/\W+/g, '-')}.png` });
    }
  }
  return found;
}

const LANES = 2;

test('no screen violates WCAG 2.2 AA, light and dark, in English and in Russian', { timeout: 600_000 }, async () => {
  expectFault(/answer: 404/);
  const found = (await Promise.all(Array.from({ length: LANES }, (_, at) => walk(at)))).flat();
  if (found.length > 0) throw new Error(found.join('\n\n'));
});

test('Tab leaves an open menu for what comes after its button', async () => {
  const page = await open(`${dev.url}/schemas/order-check`);
  const more = button(page, 'More').last();
  await more.focus();
  await page.keyboard.press('Tab');
  const next = await page.evaluateHandle(() => document.activeElement);
  for (const key of ['Tab', 'Shift+Tab']) {
    await more.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('menu').waitFor();
    await until('the menu has the focus', () => page.evaluate(() => document.activeElement?.closest('[role=menu]') !== null));
    await page.keyboard.press(key);
    await page.getByRole('menu').waitFor({ state: 'detached' });
    const isNext = await page.evaluate((element) => document.activeElement === element, next);
    expect(isNext, key).toBe(key === 'Tab');
    expect(await page.evaluate(() => document.activeElement !== document.body)).toBe(true);
  }
});
