// For work on the pages: PAWL_UI_DIST names a built folder whose files stand in for those in the binary. Headers stay the server's.
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import type { BrowserContext } from 'playwright-core';

const TYPES: Record<string, string> = {
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.html': 'text/html',
};

export async function swapDist(context: BrowserContext): Promise<void> {
  const dist = process.env.PAWL_UI_DIST;
  if (!dist) return;
  await context.route('**/assets/**', (route) => {
    const name = new URL(route.request().url()).pathname.slice(1);
    return route.fulfill({ body: readFileSync(join(dist, name)), contentType: TYPES[extname(name)] });
  });
  await context.route(
    () => true,
    async (route) => {
      const request = route.request();
      if (request.resourceType() !== 'document') return route.fallback();
      const answer = await route.fetch();
      const nonce = /name="csp-nonce" content="([^"]*)"/.exec(await answer.text())?.[1];
      const build = /name="ui-build" content="([^"]*)"/.exec(await answer.text())?.[1];
      if (nonce === undefined) return route.fulfill({ response: answer });
      const shell = readFileSync(join(dist, 'index.html'), 'utf8')
        .replace('__NONCE__', nonce)
        .replace('__BUILD__', build ?? '');
      return route.fulfill({ response: answer, body: shell });
    },
  );
}
