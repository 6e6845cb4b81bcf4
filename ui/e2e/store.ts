// The same scenarios on both stores: `Dev` is `pawl dev` on SQLite, or a server and a worker on PostgreSQL and RabbitMQ (E2E_STORE=postgres).
import { Cluster, type Services } from './cluster';
import { LocalDev } from './local';

export interface Dev {
  readonly url: string;
  readonly api: import('./api').Api;
  /** What a browser has to have so that it is logged in; null where nobody logs in. */
  readonly cookie: { name: string; value: string } | null;
  /** As a power cut would, all of its processes. */
  kill(): Promise<void>;
  /** Again at the same address, on the same data. */
  up(): Promise<void>;
  /** After a scenario that killed it and failed, the next ones still have their server. */
  revive(): Promise<void>;
  sql(statement: string): string;
  end(): Promise<void>;
}

export const onPostgres = process.env.E2E_STORE === 'postgres';

const started = new Set<Dev>();

/** Cookies of all that runs: a browser of a scenario is logged in from its first page on. */
export function sessions(): { name: string; value: string; url: string }[] {
  return [...started].flatMap(({ cookie, url }) => (cookie ? [{ ...cookie, url }] : []));
}

export const Dev = {
  /** `services`: where a cluster finds them, if not straight. */
  async start(services?: Services): Promise<Dev> {
    const dev: Dev = onPostgres ? await Cluster.withExamples(services) : await LocalDev.start();
    started.add(dev);
    return dev;
  },
};
