import { afterAll, beforeAll, expect, test } from 'vitest';
import { Dev, expectFault, profile, scrubber, see, statusIs } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

test('the steps of a run that could not be read are read when the server answers again', async () => {
  const { id, seq } = await dev.api.ended((await dev.api.start('order-check')).id);
  const page = await (await profile()).newPage();
  expectFault(/request: net::ERR.*outline/);
  const steps = '**/outline**';
  await page.route(steps, (route) => route.abort('connectionrefused'));
  await page.goto(`${dev.url}/runs/${id}`);
  await see(page, 'Failed to fetch');
  await page.unroute(steps);
  await statusIs(page, 'completed');
  expect((await scrubber(page)).last).toBe(seq);
});
