// What the examples talk to is part of `pawl dev`; for clusters one is started beside them.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { Program } from './pawl';

declare module 'vitest' {
  export interface ProvidedContext {
    echo: string;
  }
}

const dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-echo-'));
let program: Program | undefined;

export async function setup(project: TestProject): Promise<void> {
  program = new Program(['--json', 'dev', '--data', dir, '--listen', '127.0.0.1:0']);
  const [, url] = await program.says(/"echo_url":"([^"]+)"/);
  project.provide('echo', url ?? '');
}

export async function teardown(): Promise<void> {
  await program?.kill('SIGTERM');
  rmSync(dir, { recursive: true, force: true });
}
