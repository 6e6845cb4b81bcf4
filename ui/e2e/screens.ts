// Every screen of the program with something on it, for looks at all of them: what is put in first, addresses, and what is opened there.
import type { Page } from 'playwright-core';
import type { Api, Run } from './api';
import { button, type Dev, dialog, field } from './harness';

export interface Prepared {
  good: Run;
  other: Run;
  failed: Run;
  waiting: Run;
  loop: Run;
  debug: Run;
}

export async function prepare(dev: Dev): Promise<Prepared> {
  const { api } = dev;
  const ended = async (schema: string, input: unknown, more?: object) => api.ended((await api.start(schema, input, more)).id);
  const [good, other, failed, loop] = await Promise.all([
    ended('order-check', { order_id: 1001 }),
    ended('order-check', { order_id: 77777 }, { labels: { team: 'billing' } }),
    ended('error-handling', { strict: true }, { tenant: 'acme' }),
    ended('polling-loop', {}),
    ended('error-handling', { strict: true }),
  ]);
  const waiting = await api.reaches((await api.start('approval', { amount: 900, patience: '2h' })).id, 'waiting');
  const debug = await api.reaches((await api.start('math-invoice', null, { debug_mode: true })).id, 'waiting_debug');
  await operations(api, dev, failed);
  return { good, other, failed, waiting, loop, debug };
}

async function operations(api: Api, dev: Dev, failed: Run): Promise<void> {
  const starts = (schema: string) => ({ start_execution: { schema } });
  const cron = { expr: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' };
  await api.put('/api/scheduled-actions/nine', { spec: { policy: { cron }, action: starts('nightly-report') } });
  await api.put('/api/scheduled-actions/heartbeat', { spec: { policy: { periodic: { period: '15m' } }, action: starts('order-check') } });
  await api.put('/api/quotas/schema/approval', { limit: 1 });
  await api.start('approval', { amount: 900 });
  await api.post('/api/keys', { name: 'ci', role: 'operator' });
  const { definition } = await api.get<{ definition: { nodes: object[] } }>('/api/schemas/transform-data');
  const changed = {
    ...definition,
    description: 'Another one',
    nodes: [...definition.nodes, { id: 'added', type: 'log', config: { message: 'added' } }],
  };
  await api.put('/api/schemas/transform-data', changed);
  const id = failed.id.replaceAll('-', '');
  dev.sql(`INSERT INTO dead_letters (id, execution_id, reason, message, created_at) VALUES
    (1, x'${id}', 'failed_stuck', NULL, 1790000000000000), (2, NULL, 'unreadable', '{"broken": ', 1790000000000000)`);
}

export interface Screen {
  name: string;
  path: string;
  /** What is opened there; the page is in English. */
  act?: (page: Page) => Promise<void>;
}

const press = (key: string, name: string | RegExp) => async (page: Page) => {
  await page.keyboard.press(key);
  await page.getByRole('dialog', { name }).waitFor();
};

const opens = (name: string | RegExp) => async (page: Page) => {
  await button(page, name).first().click();
  await dialog(page).waitFor();
};

const more = (item: string | RegExp | null) => async (page: Page) => {
  await button(page, 'More').last().click();
  await page.getByRole('menu').waitFor();
  if (item === null) return;
  await page.getByRole('menuitem', { name: item }).click();
  await dialog(page).waitFor();
};

const menu = (name: string) => async (page: Page) => {
  await page.getByRole('banner').getByRole('button', { name }).click();
  await page.getByRole('menu').waitFor();
};

const focused = (node: string, key: string) => async (page: Page) => {
  await page.locator('.react-flow__node').filter({ hasText: node }).first().click();
  await page.getByRole('application').first().focus();
  await page.keyboard.press(key);
  await dialog(page).waitFor();
};

async function changed(page: Page): Promise<void> {
  await page.getByRole('tab', { name: 'Notes' }).click();
  await field(page, 'Name for people').fill('Another name');
  await page.keyboard.press('Control+S');
  await dialog(page).waitFor();
}

async function picked(page: Page): Promise<void> {
  await page.getByRole('checkbox').nth(1).click();
  await button(page.getByRole('region', { name: 'Actions on the selected runs' }), 'Retry').click();
  await dialog(page).waitFor();
}

async function examined(page: Page): Promise<void> {
  await button(page, 'Examine').first().click();
  await page
    .getByText(/Healthy|problem/)
    .first()
    .waitFor();
}

async function explained(page: Page): Promise<void> {
  await page
    .getByText(/^It waits at/)
    .first()
    .waitFor();
  await page.keyboard.press('e');
  await dialog(page).waitFor();
}

const FIXED: [string, string, Screen['act']?][] = [
  ['overview', '/'],
  ['overview of a week', '/?window=7d'],
  ['runs', '/runs'],
  ['runs, none fit', '/runs?tenant=nobody'],
  ['start a run', '/runs?start=1&schema=order-check'],
  ['bulk retry', '/runs?status=failed', picked],
  ['menu of the operations', '/runs', menu('Operations')],
  ['menu of the person', '/runs', menu('you')],
  ['live dot', '/runs', opens('live')],
  ['palette', '/runs', press('Control+k', /./)],
  ['keys of the page', '/runs', press('?', /./)],
  ['schemas', '/schemas'],
  ['import', '/schemas', opens('Import')],
  ['schema, runs', '/schemas/order-check'],
  ['schema, triggers', '/schemas/webhook-order?tab=triggers'],
  ['schema, versions', '/schemas/transform-data?tab=versions'],
  ['schema, settings', '/schemas/order-check?tab=settings'],
  ['start from a schema', '/schemas/order-check?start=1'],
  ['versions, picture', '/schemas/transform-data/diff?a=1&b=2'],
  ['versions, text', '/schemas/transform-data/diff?a=1&b=2&view=text'],
  ['editor', '/schemas/order-check/edit?node=fetch'],
  ['editor, schema', '/schemas/webhook-order/edit'],
  ['editor, split', '/schemas/order-check/edit?mode=split&node=fetch'],
  ['editor, code', '/schemas/order-check/edit?mode=code'],
  ['editor, menu', '/schemas/order-check/edit', more(null)],
  ['editor, save', '/schemas/order-check/edit?node=fetch', changed],
  ['editor, test', '/schemas/order-check/edit?node=fetch', opens('Test run')],
  ['editor, add', '/schemas/order-check/edit', focused('fetch', 'a')],
  ['editor, connect', '/schemas/order-check/edit', focused('fetch', 'c')],
  ['new schema', '/new/schema'],
  ['schedules', '/schedules'],
  ['schedule', '/schedules/nine'],
  ['schedule, edited', '/schedules/nine?edit=1'],
  ['schedule, delete', '/schedules/nine', more(/^Delete/)],
  ['new schedule', '/new/schedule'],
  ['dead letters', '/dead-letters'],
  ['requeue all', '/dead-letters', opens('Requeue all that fit')],
  ['dead letter of a run', '/dead-letters/1'],
  ['dead letter with a message', '/dead-letters/2'],
  ['workers', '/workers'],
  ['quotas', '/quotas'],
  ['set a quota', '/quotas', opens('Set a quota')],
  ['quota', '/quotas/schema/approval'],
  ['doctor', '/doctor', examined],
  ['keys', '/keys'],
  ['new key', '/keys', opens('New key')],
  ['revoke a key', '/keys', opens('Revoke ci')],
  ['settings', '/settings'],
  ['not found', '/nowhere'],
];

function runs({ good, other, failed, waiting, loop, debug }: Prepared): [string, string, Screen['act']?][] {
  return [
    ['runs, one is looked at', `/runs?status=failed&since=24h&sel=${failed.id}`],
    ['run', `/runs/${good.id}`],
    ['run, steps', `/runs/${good.id}?low=steps&node=fetch`],
    ['run, logs', `/runs/${other.id}?low=logs&node=explain&tab=logs`],
    ['run, events', `/runs/${waiting.id}?low=events`],
    ['run, context', `/runs/${good.id}?tab=context&step=3`],
    ['run, definition', `/runs/${good.id}?tab=definition&node=fetch&low=none`],
    ['run, outline', `/runs/${good.id}?view=outline`],
    ['run, menu', `/runs/${good.id}`, more(null)],
    ['run, again', `/runs/${good.id}?start=1`],
    ['run, note', `/runs/${good.id}`, more(/note/i)],
    ['run, fork', `/runs/${loop.id}?fork=4`],
    ['run, loop', `/runs/${loop.id}?step=6`],
    ['run, failed', `/runs/${failed.id}`],
    ['run, retry', `/runs/${failed.id}?retry=1`],
    ['run, waiting', `/runs/${waiting.id}`],
    ['run, explained', `/runs/${waiting.id}`, explained],
    ['run, send an event', `/runs/${waiting.id}`, opens('Send event')],
    ['run, stop', `/runs/${waiting.id}`, opens('Stop')],
    ['run, debugger', `/runs/${debug.id}?tab=variables`],
    ['compare', `/runs/${other.id}/compare?with=${good.id}`],
    ['compare, only differences', `/runs/${other.id}/compare?with=${good.id}&only=differences`],
    ['no such run', '/runs/019a0000-0000-7000-8000-000000000000'],
    ['no such schema', '/schemas/nobody'],
  ];
}

export function screens(prepared: Prepared): Screen[] {
  return [...FIXED, ...runs(prepared)].map(([name, path, act]) => ({ name, path, act }));
}
