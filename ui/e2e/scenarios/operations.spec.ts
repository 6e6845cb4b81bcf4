import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, button, Dev, dialog, expectFault, field, link, onPostgres, open, see, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

interface Schedule {
  id: string;
  spec: { policy: { cron?: { expr: string; timezone: string } }; action: { start_execution?: { schema: string; input: unknown } } };
  status: { successful: number; paused_at: string | null };
}

test('21 schedule: the preview follows the typing, run now, pause; the cron of a schema is read-only', async () => {
  const page = await open(`${dev.url}/new/schedule`);
  await field(page, 'Id').fill('morning');
  await field(page, 'Cron line').last().fill('30 2 * * *');
  await field(page, 'Time zone').fill('Europe/Berlin');
  await field(page, 'Schema').fill('order-check');
  await field(page, 'Input (JSON)').fill('{"order_id": 1001}');
  const body = {
    spec: { policy: { cron: { expr: '30 2 * * *', timezone: 'Europe/Berlin' } }, action: { start_execution: { schema: 'order-check' } } },
    count: 20,
  };
  const { items } = await dev.api.post<{ items: string[] }>('/api/scheduled-actions/preview', body);
  const times = page.locator('table tbody tr');
  // The cron line that the form begins with has as many.
  await until('its first firing is shown', async () => (await times.first().innerText()).includes('02:30:00'));
  expect(await times.count()).toBe(items.length);
  const first = new Intl.DateTimeFormat('en', { timeZone: 'Europe/Berlin', day: 'numeric', month: 'short', year: 'numeric' }).format(
    new Date(items[0] ?? ''),
  );
  expect(await times.first().innerText()).toContain(first.split(',')[0]);
  await accessible(page, 'new schedule');

  // Across the change of the clock: one firing a month, so that it is among the next 20.
  await field(page, 'Cron line').last().fill('30 2 1 * *');
  await see(page, /The clock changes: from \+01:00 to \+02:00/);

  expectFault(/answer: 422 POST .*\/preview/);
  await field(page, 'Cron line').last().fill('30 2 * * Q');
  await see(page, /means nothing in the weekday field/);
  expect(await button(page, 'Save').getAttribute('aria-disabled')).toBe('true');

  await field(page, 'Cron line').last().fill('0 9 * * MON-FRI');
  await until('it can be saved', async () => (await button(page, 'Save').getAttribute('aria-disabled')) === null);
  await button(page, 'Save').click();
  await page.waitForURL('**/schedules/morning');
  const saved = await dev.api.get<Schedule>('/api/scheduled-actions/morning');
  expect(saved.spec.policy.cron).toMatchObject({ expr: '0 9 * * MON-FRI', timezone: 'Europe/Berlin' });
  expect(saved.spec.action.start_execution).toEqual({ schema: 'order-check', input: { order_id: 1001 } });

  await button(page, 'Run now').click();
  await until('it has fired', async () => (await dev.api.get<Schedule>('/api/scheduled-actions/morning')).status.successful === 1);
  await see(page.getByRole('table').last(), 'success');
  await button(page, 'Pause').click();
  await see(page, 'paused');
  expect((await dev.api.get<Schedule>('/api/scheduled-actions/morning')).status.paused_at).not.toBeNull();
  await button(page, 'Resume').click();
  await see(page, 'waits for its time');
  await accessible(page, 'schedule');

  await link(page, 'Schedules').first().click();
  await see(page, 'morning');
  await accessible(page, 'schedules');
  await page.getByRole('link', { name: /^cron:/ }).click();
  await see(page, /cron trigger of/);
  await button(page, 'More').click();
  const edit = page.getByRole('menuitem', { name: /^Edit/ });
  expect(await edit.getAttribute('aria-disabled')).toBe('true');
  await see(edit, 'A cron trigger of a schema is changed in its schema.');
});

const SLOW = `
name: one-at-a-time
nodes:
  - { id: begin, type: start }
  - { id: work, type: wait_event, config: { name: go, timeout: 1h } }
  - { id: done, type: end }
edges:
  - { source: begin, target: work }
  - { source: work, target: done }
`;

test('22 quota full: pending, the explanation names the holder, a higher limit lets it go on', async () => {
  await dev.api.save(SLOW);
  const page = await open(`${dev.url}/quotas`);
  await see(page, 'No quota is set');
  await button(page, 'Set a quota').first().click();
  await field(dialog(page), 'Name').fill('one-at-a-time');
  await field(dialog(page), 'Limit').fill('1');
  await button(dialog(page), 'Save').click();
  await see(page, 'one-at-a-time');

  const holder = await dev.api.start('one-at-a-time');
  await dev.api.reaches(holder.id, 'waiting');
  const waiter = await dev.api.start('one-at-a-time');
  expect((await dev.api.run(waiter.id)).status).toBe('pending');
  const explained = await dev.api.get<{ sentence: string; facts: unknown }>(`/api/executions/${waiter.id}/explain`);
  expect(JSON.stringify(explained)).toContain(holder.id);

  await link(page, 'one-at-a-time').click();
  await page.waitForURL('**/quotas/schema/one-at-a-time');
  await see(page, holder.id.slice(-8));
  await see(page, 'Show who waits');
  await accessible(page, 'quota');
  await link(page, /Show who waits/).click();
  await see(page, waiter.id.slice(-8));
  expect(await page.getByRole('grid').getByText(holder.id.slice(-8)).count()).toBe(0);

  await page.goto(`${dev.url}/runs/${waiter.id}`);
  await see(page, 'pending');
  await see(page, /quota/i);

  await page.goto(`${dev.url}/quotas/schema/one-at-a-time`);
  await button(page, 'Change the limit').click();
  await field(dialog(page), 'Limit').fill('2');
  await button(dialog(page), 'Save').click();
  await dev.api.reaches(waiter.id, 'waiting');
  await see(page, waiter.id.slice(-8));
  await page.goto(`${dev.url}/quotas`);
  await see(page, '2 / 2');
  await accessible(page, 'quotas');
});

test('workers, doctor, keys, settings and dead letters show what the API says', async () => {
  const [worker] = (await dev.api.get<{ items: { id: string; slots: number }[] }>('/api/workers')).items;
  const page = await open(`${dev.url}/workers`);
  await see(page, worker?.id ?? '?');
  await see(page, new RegExp(`of ${worker?.slots} in use`));
  await accessible(page, 'workers');

  await page.goto(`${dev.url}/doctor`);
  await button(page, 'Examine').first().click();
  await see(page, 'Healthy');
  await accessible(page, 'doctor');

  await page.goto(`${dev.url}/dead-letters`);
  await see(page, 'No dead letters');
  await accessible(page, 'dead letters');

  await page.goto(`${dev.url}/keys`);
  await button(page, 'New key').first().click();
  await field(dialog(page), 'Name').fill('ci');
  await field(dialog(page), 'Role').selectOption('operator');
  await accessible(page, 'new key');
  await button(dialog(page), 'Make the key').click();
  const secret = await field(dialog(page), 'Key').inputValue();
  expect(secret.length).toBeGreaterThan(20);
  await button(dialog(page), 'I have kept it').click();
  await see(page, 'ci');
  await accessible(page, 'keys');
  const [key] = (await dev.api.get<{ items: { name: string; role: string; starts_with: string }[] }>('/api/keys')).items;
  expect(key).toMatchObject({ name: 'ci', role: 'operator' });
  expect(secret.startsWith(key?.starts_with ?? '?')).toBe(true);
  await button(page, 'Revoke ci').click();
  await button(dialog(page), 'Revoke').click({ force: true });
  expect(await dialog(page).isVisible()).toBe(true);
  await dialog(page).getByRole('textbox').fill('ci');
  await button(dialog(page), 'Revoke').click();
  await see(page, 'The key “ci” is revoked.');
  expect((await dev.api.get<{ items: { revoked_at: string | null }[] }>('/api/keys')).items[0]?.revoked_at).not.toBeNull();

  await page.goto(`${dev.url}/settings`);
  await page
    .getByRole('definition')
    .getByText(onPostgres ? 'server' : 'development (pawl dev)', { exact: true })
    .waitFor();
  await accessible(page, 'settings');
  await field(page, 'Language').selectOption('ru');
  await see(page, 'Настройки');
  await field(page, 'Тема').selectOption('dark');
  await accessible(page, 'settings, dark, Russian');
  await page.reload();
  await see(page, 'Настройки');
  expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('dark');
});
