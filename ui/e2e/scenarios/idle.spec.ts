import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Dev, open, see } from '../harness';
import { LocalDev } from '../local';

let dev: LocalDev;
beforeAll(async () => {
  dev = (await Dev.start()) as LocalDev;
});
afterAll(() => dev.end());

/** How often its threads have gone to sleep and so have been woken, since each began. */
function wakes(pid: number): Map<string, number> {
  const tasks = `/proc/${pid}/task`;
  return new Map(
    readdirSync(tasks).flatMap((thread) => {
      try {
        const status = readFileSync(`${tasks}/${thread}/status`, 'utf8');
        return [[thread, Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1] ?? 0)] as const];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    }),
  );
}

function since(before: Map<string, number>, after: Map<string, number>): number {
  return [...after].reduce((sum, [thread, count]) => sum + count - (before.get(thread) ?? 0), 0);
}

const WINDOW_MS = 10_000;

test('an idle `pawl dev` with an open page wakes less than five times a second', async () => {
  expect(dev).toBeInstanceOf(LocalDev);
  const { id } = await dev.api.ended((await dev.api.start('order-check')).id);
  const page = await open(`${dev.url}/runs`);
  await see(page, id.slice(-8));
  await see(page, 'live');
  // What the start and the page have set going comes to rest within some windows; the quietest is what idle is.
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < 4 && least >= 5; at += 1) {
    const before = wakes(dev.pid);
    const began = performance.now();
    await page.waitForFunction((end) => performance.now() > end, (await page.evaluate(() => performance.now())) + WINDOW_MS, {
      polling: 500,
    });
    least = Math.min(least, (since(before, wakes(dev.pid)) * 1000) / (performance.now() - began));
  }
  console.log(`     wakes a second: ${Math.round(least * 10) / 10} of 5`);
  expect(least).toBeLessThan(5);
});
