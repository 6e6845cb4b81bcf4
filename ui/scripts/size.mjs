// The size budgets: what one screen makes a browser load, gzipped. Fails when one is passed.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';

const dist = resolve(process.argv[2] ?? 'dist');
const KB = 1000;
const BUDGETS = [
  { name: 'first load', from: ['main.js'], limit: 300 * KB },
  { name: 'canvas', from: ['RunPage.js'], without: 'main.js', limit: 110 * KB },
  { name: 'editor', from: ['EditorPage.js'], without: 'RunPage.js', limit: 260 * KB },
  { name: 'charts', from: ['charts.js'], without: 'main.js', limit: 40 * KB },
  { name: 'Russian', from: ['ru.js'], without: 'main.js', limit: 40 * KB },
];

const text = (file) => readFileSync(join(dist, 'assets', file), 'utf8');

/** A chunk, what it imports at once, and the styles that Vite loads with it. */
function closure(files, seen = new Set()) {
  for (const file of files) {
    if (seen.has(file)) continue;
    seen.add(file);
    if (!file.endsWith('.js')) continue;
    const statics = [...text(file).matchAll(/(?:^|[;}\s])(?:import|export)\s*(?:[\w*{}\s,$]+from\s*)?["']\.\/([\w.-]+\.js)["']/g)].map(
      (found) => found[1],
    );
    closure(statics, seen);
  }
  return seen;
}

const sizes = new Map();
const size = (file) => {
  if (!sizes.has(file)) sizes.set(file, gzipSync(readFileSync(join(dist, 'assets', file)), { level: 9 }).length);
  return sizes.get(file);
};

let failed = false;
for (const { name, from, without, limit } of BUDGETS) {
  const files = closure(from);
  if (name === 'first load') files.add('main.css');
  const known = without ? closure([without, 'main.js']) : new Set();
  const total = [...files].filter((file) => !known.has(file)).reduce((sum, file) => sum + size(file), 0);
  const over = total > limit;
  failed ||= over;
  console.log(`${over ? 'OVER ' : '     '}${name.padEnd(12)}${(total / KB).toFixed(1).padStart(8)} kB of ${limit / KB} kB gz`);
}
process.exit(failed ? 1 : 0);
