// `pawl dev` on a folder of its own: everything in one process, on SQLite, without a login.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Api } from './api';
import { Program } from './pawl';

export class LocalDev {
  readonly dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-'));
  readonly cookie = null;
  #program: Program | null = null;
  url = '';

  static async start(): Promise<LocalDev> {
    const dev = new LocalDev();
    await dev.up();
    return dev;
  }

  get api(): Api {
    return new Api(this.url);
  }

  /** Of the process with the engine in it. */
  get pid(): number {
    return this.#program?.process.pid ?? 0;
  }

  /** Again at the same address, on the same data. */
  async up(): Promise<void> {
    const listen = this.url ? this.url.replace('http://', '') : '127.0.0.1:0';
    this.#program = new Program(['dev', '--data', join(this.dir, 'data'), '--listen', listen]);
    this.url = (await this.#program.says(/(http:\/\/127\.0\.0\.1:\d+)/))[1] ?? '';
    await this.api.ready();
  }

  /** As a power cut would. */
  async kill(): Promise<void> {
    await this.#program?.kill('SIGKILL');
  }

  /** After a scenario that killed it and failed, the next ones still have their server. */
  async revive(): Promise<void> {
    if (this.#program?.ended) await this.up();
  }

  /** A statement on its tables, as an accident would do it. */
  sql(statement: string): string {
    return execFileSync('sqlite3', ['-cmd', '.timeout 10000', join(this.dir, 'data', 'pawl.db'), statement], { encoding: 'utf8' });
  }

  async end(): Promise<void> {
    await this.#program?.kill('SIGTERM');
    rmSync(this.dir, { recursive: true, force: true });
  }
}
