// Rules that the linter has no words for: what a feature may import, where text and colours live, how long a file may be.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const faults = [];
const SOURCE = /\.(ts|tsx|css)$/;

function* files(dir) {
  for (const entry of readdirSync(dir, { withFileTypes: true })) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) yield* files(path);
    else if (SOURCE.test(entry.name)) yield path;
  }
}

const RULES = [
  {
    on: /\.tsx?$/,
    not: /\.test\.tsx?$/,
    find: /\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerouslySetInnerHTML)\b/,
    say: 'no HTML out of text',
  },
  { on: /\.tsx?$/, find: /\beval\(|\bnew Function\(/, say: 'no code out of text' },
  { on: /\.tsx?$/, find: /setAttribute\(\s*['"]style['"]|\bstyle="[^"]*[:;]/, say: 'no style strings: the CSP refuses them' },
  {
    on: /\.tsx?$/,
    not: /^src\/api\/|\.test\.tsx?$/,
    find: /\bfetch\(|\bnew EventSource\(|\bnew XMLHttpRequest\(/,
    say: 'calls are made in api/ only',
  },
  {
    on: /\.(tsx?|css)$/,
    not: /tokens\.css$|icon\.svg$|\.test\.tsx?$/,
    find: /(?<![&\w/])#[0-9a-fA-F]{3,8}\b(?!['"]?\s*[:)]?\s*(?:href|id))|\brgba?\(|\bhsla?\(/,
    say: 'colours are tokens',
  },
  { on: /\.tsx$/, not: /\.test\.tsx$/, find: />\s*[A-Z][a-z]+ [a-z]+[^<>{}=;()]*</, say: 'text belongs into messages/' },
];

for (const path of files('src')) {
  const name = relative('.', path).replaceAll('\\', '/');
  if (name === 'src/api/types.ts') continue;
  const lines = readFileSync(path, 'utf8').split('\n');
  if (lines.length > 301 && !name.startsWith('src/messages/')) faults.push(`${name}: ${lines.length} lines, 300 are the most`);
  lines.forEach((line, at) => {
    for (const { on, not, find, say } of RULES)
      if (on.test(name) && !not?.test(name) && find.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line))
        faults.push(`${name}:${at + 1}: ${say}`);
    const from = /(?:from|import\()\s*['"](\.[^'"]+)['"]/.exec(line)?.[1];
    if (from) imported(name, from, at + 1);
  });
}

function imported(name, from, line) {
  const target = join(name, '..', from).replaceAll('\\', '/');
  const own = /^src\/features\/([^/]+)\//.exec(name)?.[1];
  const other = /^src\/features\/([^/]+)/.exec(target)?.[1];
  if (own && other && own !== other) faults.push(`${name}:${line}: a feature imports no other feature (${other})`);
  if (name.startsWith('src/graph/') && !target.startsWith('src/graph')) faults.push(`${name}:${line}: graph/ imports nothing but itself`);
  if (/^src\/(api|ui)\//.test(name) && target.startsWith('src/features'))
    faults.push(`${name}:${line}: features are imported by routes only`);
}

if (faults.length > 0) {
  console.error(faults.join('\n'));
  process.exit(1);
}
