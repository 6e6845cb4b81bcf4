// Types of the API out of its OpenAPI description: `PAWL_OPENAPI=openapi.json npm run types` writes src/api/types.ts.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const source = process.env.PAWL_OPENAPI;
if (!source) {
  console.error('PAWL_OPENAPI names no file: write one with `pawl openapi > openapi.json`, or GET /api/openapi.json of a running Pawl.');
  process.exit(1);
}
const ast = await openapiTS(JSON.parse(readFileSync(source, 'utf8')), { alphabetize: true });
const head = '// Made by `npm run types` out of the OpenAPI description; never edited.\n\n';
const text = head + astToString(ast);
if (process.argv.includes('--check')) {
  if (readFileSync('src/api/types.ts', 'utf8') !== text) {
    console.error('src/api/types.ts is not what the OpenAPI description says: run `npm run types`.');
    process.exit(1);
  }
} else writeFileSync('src/api/types.ts', text);
