// `pawl server` and `pawl worker` on PostgreSQL and RabbitMQ: a namespace of tables and a prefix of queues of their own.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inject } from 'vitest';
import { Api, until } from './api';
import { Program } from './pawl';

export const DATABASE = process.env.PAWL_TEST_POSTGRES_URL ?? '';
export const BROKER = process.env.PAWL_TEST_AMQP_URL ?? '';

// Runs of a killed worker go on after a lease; `pawl dev` knows at its start that nobody else has them.
const LIKE_DEV = '[http]\nallow = ["127.0.0.1/32"]\n[env]\nallow = ["ECHO_URL"]\n[engine]\nlease = "3s"\n';
const EXAMPLES = new URL('../../examples/', import.meta.url);

export interface Services {
  database: string;
  broker: string;
}

export class Cluster {
  readonly dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-'));
  readonly name = `e2e_${randomBytes(4).toString('hex')}`;
  readonly adminKey = randomBytes(24).toString('hex');
  readonly #services: Services;
  #programs: Program[] = [];
  url = '';
  cookie: { name: string; value: string } | null = null;

  private constructor(services: Services) {
    this.#services = services;
  }

  static async start(more = '', services: Services = { database: DATABASE, broker: BROKER }): Promise<Cluster> {
    const cluster = new Cluster(services);
    writeFileSync(
      join(cluster.dir, 'pawl.toml'),
      `[database]\nschema = "${cluster.name}"\ncommitters = 1\nwriters = 1\nreaders = 2\n[broker]\nprefix = "${cluster.name}."\n${more}`,
    );
    await cluster.up();
    return cluster;
  }

  /** As near to `pawl dev` as a cluster can be: the examples are there, what they talk to, and the browser is logged in. */
  static async withExamples(services?: Services): Promise<Cluster> {
    const cluster = await Cluster.start(LIKE_DEV, services);
    const files = readdirSync(EXAMPLES).filter((name) => name.endsWith('.yaml'));
    await Promise.all(files.map((name) => cluster.api.save(readFileSync(new URL(name, EXAMPLES), 'utf8'))));
    const answer = await cluster.api.answer('POST', '/api/session', { key: cluster.adminKey });
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(answer.headers.get('set-cookie') ?? '') ?? [];
    if (!name || !value) throw new Error(`no session: ${answer.status} ${await answer.text()}`);
    cluster.cookie = { name, value };
    return cluster;
  }

  get api(): Api {
    return new Api(this.url, this.adminKey);
  }

  async up(): Promise<void> {
    const listen = this.url ? this.url.replace('http://', '') : '127.0.0.1:0';
    const server = this.#run('server', '--listen', listen);
    this.url = (await server.says(/(http:\/\/127\.0\.0\.1:\d+)/))[1] ?? '';
    await this.api.ready();
    await this.worker();
  }

  async kill(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill('SIGKILL')));
    this.#programs = [];
  }

  async revive(): Promise<void> {
    if (this.#programs.length === 0) await this.up();
  }

  /** Another worker; when it is listed it takes work. */
  async worker(): Promise<Program> {
    const known = new Set((await this.#workers()).map((worker) => worker.id));
    const program = this.#run('worker');
    await until('the worker is listed', async () => (await this.#workers()).some((worker) => !known.has(worker.id)));
    return program;
  }

  /** The first worker, as a power cut would end it. */
  async killWorker(): Promise<void> {
    await this.#programs[1]?.kill('SIGKILL');
  }

  async #workers(): Promise<{ id: string }[]> {
    return (await this.api.get<{ items: { id: string }[] }>('/api/workers')).items;
  }

  #run(...args: string[]): Program {
    const program = new Program(['--config', join(this.dir, 'pawl.toml'), ...args], {
      PAWL_DATABASE_URL: this.#services.database,
      PAWL_BROKER_URL: this.#services.broker,
      PAWL_ADMIN_KEY: this.adminKey,
      ECHO_URL: inject('echo'),
    });
    this.#programs.push(program);
    return program;
  }

  /** A statement on its tables, as an accident would do it. */
  sql(statement: string): string {
    return execFileSync('psql', [DATABASE, '-v', 'ON_ERROR_STOP=1', '-qAt', '-c', `SET search_path TO "${this.name}"`, '-c', statement], {
      encoding: 'utf8',
      env: { ...process.env, PGOPTIONS: '-c client_min_messages=warning' },
    });
  }

  async end(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill('SIGTERM')));
    this.sql(`DROP SCHEMA IF EXISTS "${this.name}" CASCADE`);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
