// Pictures of the screens for people to look at: every screen, light and dark, English and Russian.
// SHOTS_DIR: where to; PAWL_BIN: the binary to start in a folder of its own; or SHOTS_URL: a running UI. CHROMIUM: the browser.
// Words on the command line choose screens: `npm run shots -- overview runs`.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const dir = process.env.SHOTS_DIR ?? 'shots';
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const looks = (process.env.SHOTS_LOOKS ?? 'light-en,dark-en,light-ru,dark-ru').split(',').map((look) => look.split('-'));

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function until(what, test) {
  for (let tries = 0; tries < 240; tries += 1) {
    const found = await test().catch(() => null);
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  throw new Error(`waited in vain for ${what}`);
}

async function startPawl() {
  if (process.env.SHOTS_URL) return { url: process.env.SHOTS_URL, stop: () => undefined };
  const data = mkdtempSync(join(tmpdir(), 'pawl-shots-'));
  const url = `http://127.0.0.1:${await freePort()}`;
  const pawl = spawn(process.env.PAWL_BIN ?? 'pawl', ['dev', '--data', data, '--listen', new URL(url).host], { stdio: 'ignore' });
  await until('pawl dev', async () => (await fetch(`${url}/health/ready`)).ok);
  return {
    url,
    stop: () => {
      pawl.kill('SIGTERM');
      pawl.on('exit', () => rmSync(data, { recursive: true, force: true }));
    },
  };
}

async function seed(url) {
  const call = async (method, path, body) => {
    const answer = await fetch(url + path, { method, headers: { 'content-type': 'application/json' }, body: body && JSON.stringify(body) });
    // With SHOTS_URL the schedules may be there from the time before.
    if (!answer.ok && !(method === 'PUT' && answer.status === 409))
      throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.status === 204 ? null : answer.json();
  };
  const start = (schema, input, more = {}) => call('POST', '/api/executions?wait=5s', { schema, input, ...more });
  const good = await start('order-check', { order_id: 1001 });
  const other = await start('order-check', { order_id: 77777 }, { labels: { team: 'billing' } });
  const failed = await start('error-handling', { strict: true }, { tenant: 'acme' });
  const waiting = await call('POST', '/api/executions', {
    schema: 'approval',
    input: { amount: 900, patience: '2h' },
    labels: { team: 'finance' },
  });
  const loop = await start('polling-loop', {});
  for (let at = 0; at < 4; at += 1) await call('POST', '/api/executions', { schema: 'order-check', input: { order_id: 1001 + at } });
  for (let at = 0; at < 3; at += 1) await start('error-handling', { strict: true });
  await call('POST', '/api/executions', { schema: 'onboarding', input: { customer_id: 3, pause: '1h' } });
  const debug = await call('POST', '/api/executions', { schema: 'math-invoice', debug_mode: true });
  await call('PUT', '/api/scheduled-actions/nine', {
    spec: {
      policy: { cron: { expr: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' } },
      action: { start_execution: { schema: 'nightly-report' } },
    },
  });
  await call('PUT', '/api/scheduled-actions/heartbeat', {
    spec: { policy: { periodic: { period: '15m' } }, action: { start_execution: { schema: 'order-check' } } },
  });
  await call('PUT', '/api/quotas/schema/order-check', { limit: 5, rate: '100/s' });
  await secondVersion(url);
  const letters = await call('GET', '/api/dead-letters?limit=1');
  return { good, other, failed, waiting, loop, debug, letter: letters.items[0]?.id };
}

/** Two versions of one schema, so that there is a difference to look at; with SHOTS_URL they may be there from the time before. */
async function secondVersion(url) {
  const yaml = (text) => `
name: shots
nodes:
  - { id: begin, type: start }
  - { id: nap, type: sleep, config: { duration: ${text}, unit: seconds } }
  - { id: done, type: end }
edges:
  - { source: begin, target: nap }
  - { source: nap, target: done }
`;
  const type = { 'content-type': 'application/yaml' };
  await fetch(`${url}/api/schemas`, { method: 'POST', headers: type, body: yaml(1) });
  const answer = await fetch(`${url}/api/schemas/shots`, { method: 'PUT', headers: { ...type, 'if-match': '*' }, body: yaml(2) });
  if (!answer.ok) throw new Error(`PUT /api/schemas/shots: ${answer.status} ${await answer.text()}`);
}

function screens({ good, other, failed, waiting, loop, debug, letter }) {
  return {
    login: { path: '/login', login: true },
    first: { path: '/', before: true },
    overview: { path: '/' },
    runs: { path: '/runs' },
    'runs-filter': { path: `/runs?status=failed&schema=error-handling&since=24h&sel=${failed.id}` },
    'runs-none': { path: '/runs?tenant=nobody' },
    'runs-start': { path: '/runs?start=1&schema=order-check' },
    run: { path: `/runs/${good.id}` },
    'run-failed': { path: `/runs/${failed.id}` },
    'run-waiting': { path: `/runs/${waiting.id}` },
    'run-loop': { path: `/runs/${loop.id}?step=6` },
    'run-debug': { path: `/runs/${debug.id}` },
    compare: { path: `/runs/${other.id}/compare?with=${good.id}` },
    'versions-diff': { path: '/schemas/shots/diff?a=1&b=2' },
    'versions-text': { path: '/schemas/shots/diff?a=1&b=2&view=text' },
    schemas: { path: '/schemas' },
    schema: { path: '/schemas/order-check' },
    editor: { path: '/schemas/order-check/edit?node=fetch' },
    'editor-code': { path: '/schemas/order-check/edit?mode=split' },
    schedules: { path: '/schedules' },
    schedule: { path: '/schedules/nine' },
    'schedule-new': { path: '/new/schedule' },
    letters: { path: '/dead-letters' },
    ...(letter ? { letter: { path: `/dead-letters/${letter}` } } : {}),
    workers: { path: '/workers' },
    quotas: { path: '/quotas' },
    quota: { path: '/quotas/schema/order-check' },
    doctor: { path: '/doctor' },
    keys: { path: '/keys' },
    settings: { path: '/settings' },
    'not-found': { path: '/nowhere' },
    palette: { path: '/runs', keys: 'Control+k', text: 'ord' },
    'keys-help': { path: '/runs', keys: '?' },
    'run-retry': { path: `/runs/${failed.id}`, press: /^(Retry|Повторить)/ },
    'run-fork': { path: `/runs/${good.id}?fork=2`, dialog: true },
    'runs-bulk': { path: '/runs?bulk=retry&of=filter', dialog: true },
    'editor-save': { path: '/schemas/shots/edit?from=1', press: /^(Save|Сохранить)/ },
    'editor-test': { path: '/schemas/shots/edit', press: /^(Test|Проверить|Испытать)/ },
    'overview-900': { path: '/', width: 900 },
    'runs-900': { path: '/runs', width: 900 },
    'run-900': { path: `/runs/${good.id}`, width: 900 },
    'overview-320': { path: '/', width: 320 },
    'runs-320': { path: '/runs', width: 320 },
    'run-320': { path: `/runs/${good.id}`, width: 320 },
    'schedules-320': { path: '/schedules', width: 320 },
    'settings-320': { path: '/settings', width: 320 },
  };
}

async function shoot(browser, url, name, { path, keys, text, press, dialog, login, width }, [theme, language]) {
  const context = await browser.newContext({
    viewport: { width: width ?? 1440, height: 900 },
    colorScheme: theme,
    locale: language === 'ru' ? 'ru-RU' : 'en-GB',
  });
  await context.addInitScript((preferences) => localStorage.setItem('pawl.preferences', preferences), JSON.stringify({ theme, language }));
  // `pawl dev` needs no login: here it says that it does.
  const refusal = { error: 'UNAUTHORIZED', message: 'a key is needed', details: null };
  if (login) await context.route('**/api/me', (route) => route.fulfill({ status: 401, json: refusal }));
  const page = await context.newPage();
  const faults = [];
  page.on('console', (message) => message.type() === 'error' && !login && faults.push(message.text()));
  page.on('pageerror', (error) => faults.push(String(error)));
  await page.goto(url + path, { waitUntil: 'load' });
  await page.waitForSelector('main h1, main form, main [role=alert]', { timeout: 20_000 });
  // The stream never ends, so "network idle" is of no use: nothing is loading any more.
  await page
    .waitForFunction(() => document.querySelectorAll('[role=status][aria-label]').length === 0, undefined, { timeout: 10_000 })
    .catch(() => faults.push('still loading'));
  if (press) await page.locator('#page').getByRole('button', { name: press }).first().click();
  if (press || dialog) await page.waitForSelector('[role=dialog]').catch(() => faults.push('no dialog'));
  if (keys) {
    await page.locator('main').click({ position: { x: 5, y: 5 } });
    await page.keyboard.press(keys);
    await page.waitForSelector('[role=dialog]');
    if (text) await page.keyboard.type(text);
  }
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(dir, `${name}-${theme}-${language}.png`) });
  await context.close();
  for (const fault of faults) console.error(`${name} ${theme} ${language}: ${fault}`);
}

mkdirSync(dir, { recursive: true });
const pawl = await startPawl();
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const is = (name) => wanted.length === 0 || wanted.includes(name);
  const first = { path: '/' };
  if (is('first')) for (const look of looks) await shoot(browser, pawl.url, 'first', first, look);
  const all = screens(await seed(pawl.url));
  for (const [name, screen] of Object.entries(all))
    if (!screen.before && is(name)) for (const look of looks) await shoot(browser, pawl.url, name, screen, look);
} finally {
  await browser.close();
  pawl.stop();
}
