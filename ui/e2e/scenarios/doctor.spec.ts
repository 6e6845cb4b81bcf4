import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, button, Dev, dialog, link, open, see, until } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

const NAP = `
name: long-nap
nodes:
  - { id: begin, type: start }
  - { id: nap, type: sleep, config: { duration: 2, unit: hours } }
  - { id: done, type: end }
edges:
  - { source: begin, target: nap }
  - { source: nap, target: done }
`;

const QUEUES = ['processing_queue', 'incoming_queue'];

function timers(id: string): number {
  const rows = (table: string) => Number(dev.sql(`SELECT count(*) FROM ${table} WHERE action_id = '${id}'`));
  return QUEUES.reduce((sum, table) => sum + rows(table), 0);
}

test('23 doctor: a wait that lost its timer is found, repaired, and then all is healthy', async () => {
  await dev.api.save(NAP);
  const { id } = await dev.api.start('long-nap');
  await dev.api.reaches(id, 'sleeping');
  await until('its timer is in a queue', async () => timers(id) > 0);
  for (const table of QUEUES) dev.sql(`DELETE FROM ${table} WHERE action_id = '${id}'`);
  expect(timers(id)).toBe(0);
  const page = await open(`${dev.url}/doctor`);
  await button(page, 'Examine').first().click();
  await see(page, 'Waits, and no timer will wake it');
  await see(page, id.slice(-8));
  await accessible(page, 'doctor with a finding');
  await button(page, 'Repair 1').click();
  await see(dialog(page), id.slice(-8));
  await button(dialog(page), 'Repair 1').click();
  await see(page, '1 problem was repaired');
  await see(page, 'Healthy');
  expect(timers(id)).toBeGreaterThan(0);
  expect((await dev.api.get<{ healthy: boolean }>('/api/doctor')).healthy).toBe(true);
  await link(page, 'Overview').first().click();
  await see(page, 'Open runs');
  await accessible(page, 'overview');
});
