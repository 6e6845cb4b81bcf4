// `npm run build -- --outDir DIR --emptyOutDir`: type check, vite, budgets of the sizes.
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';

const args = process.argv.slice(2);
const at = args.indexOf('--outDir');
const dist = resolve(at < 0 ? 'dist' : args[at + 1]);

function run(command, ...rest) {
  const { status } = spawnSync(process.execPath, [`node_modules/${command}`, ...rest], { stdio: 'inherit' });
  if (status !== 0) process.exit(status ?? 1);
}

run('typescript/bin/tsc', '--noEmit');
run('vite/bin/vite.js', 'build', ...args);
const { status } = spawnSync(process.execPath, ['scripts/size.mjs', dist], { stdio: 'inherit' });
process.exit(status ?? 1);
