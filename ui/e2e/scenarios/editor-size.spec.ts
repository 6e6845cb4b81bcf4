// The editor of a large schema: a budget of section 9 of the design.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Dev, profile } from '../harness';

let dev: Dev;
beforeAll(async () => {
  dev = await Dev.start();
});
afterAll(() => dev.end());

/** A chain with branches: every tenth node is a condition whose ways meet again. */
function large(name: string, count: number): string {
  const nodes = ['  - { id: begin, type: start }'];
  const edges: string[] = [];
  let last = '{ source: begin';
  for (let at = 1; at < count - 1; at += 1) {
    const branch = at % 10 === 0;
    const config = branch ? '{ expression: "input.n > 1" }' : `{ message: "step ${at} of {{input.name}}" }`;
    nodes.push(`  - { id: n${at}, type: ${branch ? 'condition' : 'log'}, config: ${config} }`);
    edges.push(`  - ${last}, target: n${at} }`);
    if (branch && at + 2 < count - 1) edges.push(`  - { source: n${at}, target: n${at + 2}, sourceHandle: "false" }`);
    last = branch ? `{ source: n${at}, sourceHandle: "true"` : `{ source: n${at}`;
  }
  nodes.push('  - { id: done, type: end }');
  edges.push(`  - ${last}, target: done }`);
  return `name: ${name}\nnodes:\n${nodes.join('\n')}\nedges:\n${edges.join('\n')}\n`;
}

test('30 the editor of 2,000 nodes is ready in at most four times the time of 100', async () => {
  await dev.api.save(large('hundred', 100));
  await dev.api.save(large('thousands', 2000));
  const context = await profile();
  const ready = async (name: string) => {
    const page = await context.newPage();
    const start = performance.now();
    await page.goto(`${dev.url}/schemas/${name}/edit`);
    await page.getByRole('application').first().waitFor();
    await page.getByText('v1, saved').waitFor();
    const took = performance.now() - start;
    await page.close();
    return took;
  };
  await ready('hundred');
  const best = async (name: string) => Math.min(await ready(name), await ready(name), await ready(name));
  const [small, many] = [await best('hundred'), await best('thousands')];
  expect(many / small, `100 nodes: ${Math.round(small)} ms, 2,000 nodes: ${Math.round(many)} ms`).toBeLessThanOrEqual(4);
});
