// Starts the program under test. PAWL_BIN is the built binary.
import { type ChildProcess, spawn } from 'node:child_process';

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
