// Scenario 30: the budgets of the design, as counts and as ratios of the same run. Other programs on the machine only ever make a time
// longer, so the shortest of several counts.
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { button, Dev, open, profile, scrubber, see, statusIs, until } from '../harness';

/** Many pages and runs: more than the usual time, above all for a debug build. */
const LONG_MS = 300_000;
const LONG = { timeout: LONG_MS };

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

/** `count` nodes: a chain that branches and joins every ten nodes. */
function wide(name: string, count: number): string {
  const nodes = [];
  const edges = [];
  for (let at = 0; at < count; at += 1) {
    const fork = at % 10 === 5 && at + 3 < count;
    const type = at === 0 ? 'start' : at === count - 1 ? 'end' : fork ? 'condition' : 'log';
    const config = type === 'log' ? `, config: { message: "node ${at}" }` : type === 'condition' ? ', config: { expression: "1 < 2" }' : '';
    nodes.push(`  - { id: n${at}, type: ${type}${config} }`);
    if (fork) {
      edges.push(`  - { source: n${at}, target: n${at + 1}, sourceHandle: "true" }`);
      edges.push(`  - { source: n${at}, target: n${at + 2}, sourceHandle: "false" }`);
      edges.push(`  - { source: n${at + 1}, target: n${at + 3} }`);
    } else if (at % 10 !== 6 && at + 1 < count) edges.push(`  - { source: n${at}, target: n${at + 1} }`);
  }
  return `name: ${name}\nnodes:\n${nodes.join('\n')}\nedges:\n${edges.join('\n')}\n`;
}

/** A run of it has two steps for each round, and three more. */
function rounds(name: string, count: number): string {
  return `
name: ${name}
settings: { max_steps: 20000 }
nodes:
  - { id: begin, type: start }
  - { id: count, type: variable_set, config: { variable: n, value: "{{(variables.n ?? 0) + 1}}" } }
  - { id: more, type: condition, config: { expression: "{{variables.n}} < ${count}" } }
  - { id: done, type: end, config: { output: "{{variables.n}}" } }
edges:
  - { source: begin, target: count }
  - { source: count, target: more }
  - { source: more, target: count, sourceHandle: "true" }
  - { source: more, target: done, sourceHandle: "false" }
`;
}

const runs = new Map<number, string>();

/** A run with about so many steps. */
async function runOf(steps: number): Promise<string> {
  const known = runs.get(steps);
  if (known !== undefined) return known;
  const name = `steps-${steps}`;
  await dev.api.save(rounds(name, steps / 2 - 1));
  const { id } = await dev.api.start(name);
  await until(`${name} has ended`, async () => (await dev.api.run(id)).status === 'completed', 120_000);
  expect((await dev.api.run(id)).seq).toBe(steps);
  runs.set(steps, id);
  return id;
}

interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  /** Microseconds of the processor. */
  tdur?: number;
  args?: { name?: string };
}

/** What `calibrated` takes on the machine that the 50 ms of a long task are meant for. */
const LOOP_MS = 0.8;

/**
 * From how many microseconds on a task is long: 50 ms, or as many more as this machine is slower. A loop in the same page tells: the
 * shortest of many short ones, which no other program has interrupted.
 */
async function longMicros(page: Page): Promise<number> {
  const loop = await page.evaluate(() => {
    let least = Number.POSITIVE_INFINITY;
    for (let tries = 0; tries < 30; tries += 1) {
      const before = performance.now();
      const made = Array.from({ length: 3000 }, (_, at) => ({ key: `n${(at * 7919) % 3000}`, at }));
      made.sort((one, other) => (one.key < other.key ? -1 : 1));
      const known = new Map(made.map((one) => [one.key, one]));
      if (known.size !== 3000) throw new Error('the loop is wrong');
      least = Math.min(least, performance.now() - before);
    }
    return least;
  });
  const limit = 50_000 * Math.max(1, loop / LOOP_MS);
  console.log(`     the loop takes ${Math.round(loop * 100) / 100} ms: a task is long from ${Math.round(limit / 1000)} ms on`);
  return limit;
}

/**
 * How often the page was kept from answering for so long while this happened. A task's own time on the processor counts, not what it
 * waited for other programs.
 */
async function longTasks(page: Page, act: () => Promise<void>): Promise<number> {
  const limit = await longMicros(page);
  const browser = page.context().browser();
  if (browser === null) throw new Error('the browser is not there');
  await browser.startTracing(page, { categories: ['toplevel', 'disabled-by-default-devtools.timeline'] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString()) as { traceEvents: TraceEvent[] };
  const mains = traceEvents.filter((event) => event.name === 'thread_name' && event.args?.name === 'CrRendererMain');
  const tasks = traceEvents.filter(
    (event) => /RunTask$/.test(event.name) && event.ph === 'X' && mains.some((main) => main.pid === event.pid && main.tid === event.tid),
  );
  expect(tasks.filter((task) => task.tdur !== undefined).length, 'tasks with a time').toBeGreaterThan(10);
  const took = tasks.map((task) => task.tdur ?? 0);
  console.log(`     ${took.length} tasks, the longest ${Math.round(Math.max(...took) / 1000)} ms`);
  return took.filter((one) => one >= limit).length;
}

async function fewest(tries: number, count: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 0; at < tries && least > 0; at += 1) least = Math.min(least, await count());
  return least;
}

/** The shortest of each; in turns, so that what else goes on meets all of them. */
async function shortest(tries: number, ...times: (() => Promise<number>)[]): Promise<number[]> {
  const least = times.map(() => Number.POSITIVE_INFINITY);
  for (let at = 0; at < tries; at += 1)
    for (const [of, time] of times.entries()) least[of] = Math.min(least[of] ?? Number.POSITIVE_INFINITY, await time());
  console.log(`     ${least.map((one) => Math.round(one * 10) / 10).join(' and ')} ms`);
  return least;
}

/** The last divided by the first. */
function growth([first = Number.NaN, last = Number.NaN]: number[]): number {
  return last / first;
}

function told(what: string, value: number, limit: number): void {
  console.log(`     ${what}: ${Math.round(value * 100) / 100} of ${limit}`);
  expect(value, what).toBeLessThanOrEqual(limit);
}

/** Milliseconds from the navigation until it is there, in a tab that has the program in its cache. */
async function timeTo(page: Page, url: string, ready: () => Promise<unknown>): Promise<number> {
  await page.goto(url, { waitUntil: 'commit' });
  await ready();
  return page.evaluate(() => performance.now());
}

async function zoomTo(page: Page, holds: (zoom: number) => boolean, name: string): Promise<void> {
  const zoom = () => page.locator('.react-flow__viewport').evaluate((element) => new DOMMatrix(getComputedStyle(element).transform).a);
  for (let at = 0; at < 30 && !holds(await zoom()); at += 1) await button(page, name).click();
  expect(holds(await zoom())).toBe(true);
}

async function pan(page: Page): Promise<void> {
  const box = await page.locator('.react-flow__pane').boundingBox();
  const [x, y] = [(box?.x ?? 0) + (box?.width ?? 0) / 2, (box?.y ?? 0) + 40];
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let at = 1; at <= 60; at += 1) await page.mouse.move(x + (at < 30 ? -at : at - 60) * 8, y + at);
  await page.mouse.up();
}

test('30 a graph of 2,000 nodes: no long task while it is panned, near and as a map', LONG, async () => {
  await dev.api.save(wide('wide-2000', 2000));
  const page = await open(`${dev.url}/schemas/wide-2000/edit`);
  await page.locator('.react-flow__pane').waitFor();
  await see(page, '0 problems');
  await zoomTo(page, (zoom) => zoom > 0.7 && zoom < 0.95, 'Zoom in');
  expect(await page.locator('.react-flow__node').count()).toBeGreaterThan(2);
  told('long tasks at zoom 0.8', await fewest(3, () => longTasks(page, () => pan(page))), 0);
  await zoomTo(page, (zoom) => zoom < 0.3, 'Zoom out');
  expect(await page.locator('.react-flow__node').count()).toBe(0);
  told('long tasks in map mode', await fewest(3, () => longTasks(page, () => pan(page))), 0);
});

test('30 the editor opens 2,000 nodes in at most four times the time of 100', LONG, async () => {
  await dev.api.save(wide('wide-100', 100));
  await dev.api.save(wide('open-2000', 2000));
  const page = await open(`${dev.url}/schemas/wide-100/edit`);
  const time = (name: string) => () =>
    timeTo(page, `${dev.url}/schemas/${name}/edit?node=n7`, async () => {
      await page.getByRole('region', { name: 'Form of n7' }).waitFor();
      // Cards, or the picture that takes their place when the whole is in view.
      await page.locator('.react-flow__node, [role=application] > canvas').first().waitFor();
    });
  told('editor, 2,000 nodes ÷ 100', growth(await shortest(3, time('wide-100'), time('open-2000'))), 4);
});

/** Milliseconds of the processor that the page needs for a frame while the moment goes through the whole run. */
async function scrubFrame(page: Page, session: CDPSession, id: string): Promise<number> {
  await page.goto(`${dev.url}/runs/${id}`);
  await statusIs(page, 'completed');
  await page.locator('.react-flow__node').first().waitFor();
  const { last } = await scrubber(page);
  const box = await page.getByRole('slider', { name: 'The moment shown' }).locator('..').boundingBox();
  const [x, y, width] = [(box?.x ?? 0) + 4, (box?.y ?? 0) + (box?.height ?? 0) / 2, (box?.width ?? 0) - 8];
  await page.mouse.move(x + width, y);
  await page.mouse.down();
  await page.evaluate(() => {
    const counted = { frames: 0 };
    const next = () => {
      counted.frames += 1;
      Object.assign(window, { counted, frame: requestAnimationFrame(next) });
    };
    next();
  });
  const before = await mainThread(session);
  for (let at = 60; at >= 0; at -= 1) await page.mouse.move(x + (width * at) / 60, y);
  await page.mouse.up();
  await until('the moment has followed', async () => (await scrubber(page)).now < last / 20);
  const after = await mainThread(session);
  const frames = await page.evaluate(() => {
    const { counted, frame } = window as unknown as { counted: { frames: number }; frame: number };
    cancelAnimationFrame(frame);
    return counted.frames;
  });
  expect(frames).toBeGreaterThan(10);
  return (after - before) / frames;
}

/** Milliseconds that the page's main thread has had of the processor. */
async function mainThread(session: CDPSession): Promise<number> {
  const { metrics } = (await session.send('Performance.getMetrics')) as { metrics: { name: string; value: number }[] };
  const found = metrics.find(({ name }) => name === 'ThreadTime')?.value;
  if (found === undefined) throw new Error('the browser does not tell the time of its thread');
  return found * 1000;
}

describe('30 a run of 10,000 steps', () => {
  let [small, large] = ['', ''];
  beforeAll(async () => {
    [small, large] = [await runOf(100), await runOf(10_000)];
  }, LONG_MS);

  test('few rows, and no long task while scrolling', LONG, async () => {
    const page = await open(`${dev.url}/runs/${large}?low=steps`);
    await statusIs(page, 'completed');
    const grid = page.getByRole('grid', { name: 'Steps' });
    await until('rows are there', async () => (await grid.getByRole('row').count()) > 3);
    const scroll = async () => {
      await grid.hover();
      await page.mouse.wheel(0, -1_000_000);
      for (let at = 0; at < 60; at += 1) await page.mouse.wheel(0, 5_000);
      await see(grid, '10,000');
    };
    told('long tasks while scrolling to the end', await fewest(3, () => longTasks(page, scroll)), 0);
    told('rows in the page', await page.getByRole('row').count(), 80);
    expect((await scrubber(page)).last).toBe(10_000);
  });

  test('scrubbing costs at most twice as much as in one of 100', LONG, async () => {
    const page = await open(`${dev.url}/runs/${small}`);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const frame = (id: string) => () => scrubFrame(page, session, id);
    told('scrub, processor for a frame, 10,000 steps ÷ 100', growth(await shortest(3, frame(small), frame(large))), 2);
  });

  test('it shows its first moment in at most three times the time of one of 100', LONG, async () => {
    const page = await open(`${dev.url}/runs/${small}`);
    const first = (id: string, steps: number) => () =>
      timeTo(page, `${dev.url}/runs/${id}`, () => until('the moment', async () => (await scrubber(page)).now === steps));
    told('first moment of a run, 10,000 steps ÷ 100', growth(await shortest(3, first(small, 100), first(large, 10_000))), 3);
  });
});

async function heap(session: CDPSession): Promise<number> {
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = (await session.send('Runtime.getHeapUsage')) as { usedSize: number };
  return usedSize;
}

describe('30 fifty runs', () => {
  const ids: string[] = [];
  beforeAll(async () => {
    await dev.api.save(rounds('steps-300', 149));
    for (let left = 50; left > 0; left -= 8) {
      const batch = await Promise.all(Array.from({ length: Math.min(left, 8) }, async () => (await dev.api.start('steps-300')).id));
      for (const id of batch) expect(await dev.api.ended(id, 120_000)).toMatchObject({ status: 'completed' });
      ids.push(...batch);
    }
    expect(ids).toHaveLength(50);
  }, LONG_MS);

  test('the heap after fifty runs is at most half as large again as after five', LONG, async () => {
    const page = await open(`${dev.url}/runs?schema=steps-300`);
    const session = await page.context().newCDPSession(page);
    const sizes: number[] = [];
    for (const id of ids) {
      // Within the page, as a person goes from run to run: a new address would begin with an empty heap.
      await page.evaluate((to) => {
        history.pushState({}, '', to);
        dispatchEvent(new PopStateEvent('popstate'));
      }, `/runs/${id}?tab=context&step=200`);
      await until('it is shown', async () => (await scrubber(page)).now === 200);
      sizes.push(await heap(session));
    }
    told('heap, 50 runs ÷ 5', (sizes[49] ?? 0) / (sizes[4] ?? 1), 1.5);
  });
});

test('30 the eighth tab is ready in at most three times the time of the first', LONG, async () => {
  const { id } = await dev.api.ended((await dev.api.start('order-check')).id);
  const times: number[][] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const context = await profile();
    const warm = await context.newPage();
    await warm.goto(`${dev.url}/runs`);
    await see(warm, id.slice(-8));
    await warm.close();
    const tabs: number[] = [];
    for (let at = 0; at < 8; at += 1) {
      const page = await context.newPage();
      tabs.push(await timeTo(page, `${dev.url}/runs`, () => see(page, id.slice(-8))));
    }
    times.push(tabs);
    await context.close();
  }
  const least = (tab: number) => Math.min(...times.map((tabs) => tabs[tab] ?? Number.NaN));
  told('tab 8 ÷ tab 1', growth([least(0), least(7)]), 3);
});
