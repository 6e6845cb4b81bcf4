// Starts the program under test. PAWL_BIN is the built binary.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Api } from './api';

export function binary(): string {
  const path = process.env.PAWL_BIN;
  if (!path) throw new Error('PAWL_BIN must name the built binary: `PAWL_BIN=target/release/pawl npm run e2e`');
  return path;
}

const READY_MS = 30_000;

/** A process whose output is kept, and which can be killed as a power cut would. */
export class Program {
  readonly process: ChildProcess;
  output = '';
  readonly #ended: Promise<void>;

  constructor(args: string[], env: Record<string, string> = {}) {
    this.process = spawn(binary(), args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    this.process.stdout?.on('data', (text) => (this.output += text));
    this.process.stderr?.on('data', (text) => (this.output += text));
    this.#ended = new Promise((resolve) => this.process.once('exit', () => resolve()));
  }

  /** The first match in its output. */
  async says(pattern: RegExp): Promise<RegExpExecArray> {
    const until = Date.now() + READY_MS;
    while (Date.now() < until) {
      const found = pattern.exec(this.output);
      if (found) return found;
      if (this.ended) break;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error(`it never said ${pattern}; it said:\n${this.output}`);
  }

  get ended(): boolean {
    return this.process.exitCode !== null || this.process.signalCode !== null;
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.ended) this.process.kill(signal);
    await this.#ended;
  }
}

/** `pawl dev` on a folder of its own. */
export class Dev {
  readonly dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-'));
  #program: Program | null = null;
  url = '';

  static async start(): Promise<Dev> {
    const dev = new Dev();
    await dev.up();
    return dev;
  }

  get api(): Api {
    return new Api(this.url);
  }

  get output(): string {
    return this.#program?.output ?? '';
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

  async end(): Promise<void> {
    await this.#program?.kill('SIGTERM');
    rmSync(this.dir, { recursive: true, force: true });
  }
}
