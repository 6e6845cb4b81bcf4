// A browser that watches itself: an error on the console, a report of the content policy, an unhandled rejection or an unexpected answer
// of the server fails the scenario that it happened in.
import { type Browser, type BrowserContext, chromium, type Locator, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, inject } from 'vitest';
import { swapDist } from './dist';
import { sessions } from './store';

export { until } from './api';
export { accessible } from './axe';
export { Dev, onPostgres } from './store';

export interface Options {
  theme?: 'light' | 'dark';
  language?: 'en' | 'ru';
  width?: number;
  height?: number;
}

let browser: Browser | undefined;
let contexts: BrowserContext[] = [];
let faults: string[] = [];
let allowed: RegExp[] = [];

beforeAll(async () => {
  const browsers = inject('browsers');
  browser = await chromium.connect(browsers[Number(process.env.VITEST_POOL_ID) % browsers.length] ?? '');
});

afterAll(async () => {
  await browser?.close();
});

afterEach(async ({ task }) => {
  if (task.result?.state === 'fail') await pictures(task.name);
  const found = faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault)));
  const open = contexts;
  [faults, allowed, contexts] = [[], [], []];
  await Promise.all(open.map((context) => context.close()));
  if (found.length > 0) throw new Error(`the browser reported:\n${found.join('\n')}`);
});

/** What was on the screen when a scenario failed: E2E_SHOTS is the folder. */
async function pictures(name: string): Promise<void> {
  const dir = process.env.E2E_SHOTS;
  if (!dir) return;
  const pages = contexts.flatMap((context) => context.pages());
  for (const [at, page] of pages.entries())
    await page.screenshot({ path: `${dir}/${name.split(/[ :]/)[0]}-${at}.png` }).catch(() => undefined);
}

/** Answers and messages that this scenario brings about on purpose. */
export function expectFault(pattern: RegExp): void {
  allowed.push(pattern);
}

function watch(page: Page): void {
  page.on('console', (message) => {
    // The failed answer itself is told below, with its address and status.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) faults.push(`console: ${message.text()}`);
  });
  page.on('pageerror', (error) => faults.push(`unhandled: ${error.stack ?? error.message}`));
  page.on('response', (answer) => {
    if (answer.status() >= 400) faults.push(`answer: ${answer.status()} ${answer.request().method()} ${answer.url()}`);
  });
  page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText ?? '';
    // A page that is left gives up its readings.
    if (why !== 'net::ERR_ABORTED') faults.push(`request: ${why} ${request.method()} ${request.url()}`);
  });
}

/** A fresh browser profile: no cookies, no storage. */
export async function profile(options: Options = {}): Promise<BrowserContext> {
  if (!browser) throw new Error('the browser is not there');
  const context = await browser.newContext({
    colorScheme: options.theme ?? 'light',
    locale: options.language === 'ru' ? 'ru-RU' : 'en-US',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    viewport: { width: options.width ?? 1440, height: options.height ?? 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  context.setDefaultTimeout(15_000);
  contexts.push(context);
  context.on('page', watch);
  await context.addCookies(sessions().map((one) => ({ ...one, httpOnly: true, sameSite: 'Strict' as const })));
  await swapDist(context);
  return context;
}

export async function open(url: string, options: Options = {}): Promise<Page> {
  const page = await (await profile(options)).newPage();
  await page.goto(url);
  return page;
}

/** Waits until the text is on the page. */
export async function see(page: Page | Locator, text: string | RegExp): Promise<Locator> {
  const found = page.getByText(text).first();
  await found.waitFor({ state: 'visible' });
  return found;
}

export async function gone(locator: Locator): Promise<void> {
  await locator.waitFor({ state: 'detached' });
}

/** By role and accessible name: what a screen reader would find. */
export function button(page: Page | Locator, name: string | RegExp): Locator {
  return page.getByRole('button', { name, exact: typeof name === 'string' });
}

export function link(page: Page | Locator, name: string | RegExp): Locator {
  return page.getByRole('link', { name, exact: typeof name === 'string' });
}

export function field(page: Page | Locator, name: string | RegExp): Locator {
  return page.getByLabel(name, { exact: typeof name === 'string' });
}

export function dialog(page: Page): Locator {
  return page.getByRole('dialog');
}

/** Waits until the head of a run's page says this status. */
export async function statusIs(page: Page, status: string, timeout = 15_000): Promise<void> {
  await page.locator('h1').getByText(status, { exact: true }).waitFor({ state: 'visible', timeout });
}

/** The scrubber: where it stands and where it ends, as its slider says. */
export async function scrubber(page: Page): Promise<{ now: number; last: number; text: string }> {
  const slider = page.getByRole('slider', { name: 'The moment shown' });
  await slider.waitFor();
  const number = async (name: string) => Number(await slider.getAttribute(name));
  return {
    now: await number('aria-valuenow'),
    last: await number('aria-valuemax'),
    text: (await slider.getAttribute('aria-valuetext')) ?? '',
  };
}
