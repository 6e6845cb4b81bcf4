// The hands of the editor's scenarios.
import type { Locator, Page } from 'playwright-core';
import { button, dialog, see } from './harness';

export function code(page: Page): Locator {
  return page.getByRole('textbox', { name: 'Text of the schema' });
}

/** The text as the code shows it; small texts are in the page as a whole. */
export async function textOf(page: Page): Promise<string> {
  return (await code(page).locator('.cm-line').allInnerTexts()).map((line) => line.replace(/\n$/, '')).join('\n');
}

/** Pasted: text that is typed over marked code takes the look of it along as an inline style, which the content policy reports. */
export async function paste(page: Page, text: string): Promise<void> {
  await page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
  await page.keyboard.press('Control+V');
}

export async function write(page: Page, place: Locator, text: string): Promise<void> {
  await place.click();
  await page.keyboard.press('Control+A');
  await paste(page, text);
}

export function card(page: Page, id: string): Locator {
  return page.locator('.react-flow__node').filter({ has: page.locator(`[data-node="${id}"]`) });
}

export function form(page: Page): Locator {
  return page.getByRole('region', { name: /^Form of/ });
}

/** Saves, and waits until the page says that it is stored. */
export async function save(page: Page, version: number): Promise<void> {
  await page.keyboard.press('Control+S');
  await button(dialog(page), 'Save and use').click();
  await see(page, `v${version} is saved.`);
}
