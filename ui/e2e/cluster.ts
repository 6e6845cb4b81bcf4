// `pawl server` and `pawl worker` on PostgreSQL and RabbitMQ: a namespace of tables and a prefix of queues of their own.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Api, until } from './api';
import { Program } from './pawl';

/** S scenarios run where the services are; elsewhere they are reported as skipped. */
export const hasServices = Boolean(process.env.PAWL_TEST_POSTGRES_URL && process.env.PAWL_TEST_AMQP_URL);

export class Cluster {
  readonly dir = mkdtempSync(join(tmpdir(), 'pawl-e2e-'));
  readonly name = `e2e_${randomBytes(4).toString('hex')}`;
  readonly adminKey = randomBytes(24).toString('hex');
  readonly #database = process.env.PAWL_TEST_POSTGRES_URL ?? '';
  readonly #programs: Program[] = [];
  url = '';

  static async start(more = ''): Promise<Cluster> {
    const cluster = new Cluster();
    writeFileSync(
      join(cluster.dir, 'pawl.toml'),
      `[database]\nschema = "${cluster.name}"\ncommitters = 1\nwriters = 1\nreaders = 2\n[broker]\nprefix = "${cluster.name}."\n${more}`,
    );
    const server = cluster.#run('server', '--listen', '127.0.0.1:0');
    cluster.url = (await server.says(/(http:\/\/127\.0\.0\.1:\d+)/))[1] ?? '';
    await cluster.api.ready();
    await cluster.worker();
    return cluster;
  }

  get api(): Api {
    return new Api(this.url, this.adminKey);
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
      PAWL_DATABASE_URL: this.#database,
      PAWL_BROKER_URL: process.env.PAWL_TEST_AMQP_URL ?? '',
      PAWL_ADMIN_KEY: this.adminKey,
    });
    this.#programs.push(program);
    return program;
  }

  /** A statement on its tables, as an accident would do it. */
  sql(statement: string): string {
    return execFileSync(
      'psql',
      [this.#database, '-v', 'ON_ERROR_STOP=1', '-qAt', '-c', `SET search_path TO "${this.name}"`, '-c', statement],
      {
        encoding: 'utf8',
        env: { ...process.env, PGOPTIONS: '-c client_min_messages=warning' },
      },
    );
  }

  async end(): Promise<void> {
    await Promise.all(this.#programs.map((program) => program.kill('SIGTERM')));
    this.sql(`DROP SCHEMA IF EXISTS "${this.name}" CASCADE`);
    rmSync(this.dir, { recursive: true, force: true });
  }
}
