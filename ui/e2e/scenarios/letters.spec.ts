import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { accessible, button, Dev, dialog, link, open, see, statusIs, until } from '../harness';

let dev: Dev;
let service: Server;
/** Calls that wait for their answer, until the service answers at once. */
let held: ServerResponse[] = [];
let answers = false;
beforeAll(async () => {
  dev = await Dev.start();
  service = createServer((_request, answer) => {
    if (answers) answer.end('done');
    else held.push(answer);
  });
  await new Promise<void>((resolve) => service.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  service.closeAllConnections();
  service.close();
  await dev.end();
});

interface Letter {
  id: number;
  execution_id: string;
  reason: string;
  requeued_at: string | null;
  requeued_as: string | null;
}

test('18 dead letters: what took its worker down is listed, one is requeued from its page, the others together', async () => {
  await dev.api.save(`
name: takes-down
settings: { on_stuck: fail }
nodes:
  - { id: begin, type: start }
  - { id: call, type: http_request, timeout: 5m, config: { method: GET, url: "http://127.0.0.1:${(service.address() as AddressInfo).port}/" } }
  - { id: done, type: end, config: { output: { survived: true } } }
edges:
  - { source: begin, target: call }
  - { source: call, target: done }
`);
  const runs = await Promise.all([1, 2, 3].map(() => dev.api.start('takes-down')));
  await until('all of them call', async () => held.length === 3);
  await dev.kill();
  held = [];
  answers = true;
  await dev.up();
  for (const run of runs) await until(`${run.id} is stuck`, async () => (await dev.api.run(run.id)).status === 'failed_stuck', 60_000);
  const letters = async () => (await dev.api.get<{ items: Letter[] }>('/api/dead-letters')).items;
  await until('there are three letters', async () => (await letters()).length === 3);
  const [first] = await letters();

  const page = await open(`${dev.url}/dead-letters`);
  await see(page, '3 dead letters');
  await see(page, first?.reason ?? '?');
  await accessible(page, 'dead letters');
  await page.goto(`${dev.url}/dead-letters/${first?.id}`);
  await see(page, 'The run has failed: a new run is made that goes on from the failed step.');
  await accessible(page, 'a dead letter');
  await button(page, 'Requeue').click();
  await see(page, 'A new run goes on from the failed step.');
  await link(page, 'Open the run').click();
  await statusIs(page, 'completed');
  const requeued = (await letters()).find((letter) => letter.id === first?.id);
  expect(new URL(page.url()).pathname).toBe(`/runs/${requeued?.requeued_as}`);
  expect(await dev.api.run(requeued?.requeued_as ?? '')).toMatchObject({ retry_of: first?.execution_id, output: { survived: true } });

  await page.goto(`${dev.url}/dead-letters?reason=no+such+reason`);
  await see(page, 'No dead letter fits the filter');
  await button(page, 'Clear filters').click();
  await see(page, '2 dead letters');
  await button(page, 'Requeue all that fit').click();
  await see(dialog(page), 'Requeue 2 dead letters?');
  await accessible(page, 'requeue all');
  await button(dialog(page), 'Requeue').click();
  await see(dialog(page), /2 were retried, 0 were started, 0 needed nothing, 0 were refused, 0 failed/);
  await button(dialog(page), 'Close').last().click();
  await see(page, 'No dead letters');
  expect((await letters()).filter((letter) => letter.requeued_at === null)).toEqual([]);
});
