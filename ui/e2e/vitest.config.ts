import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config';

// About `pawl dev` or about the page alone, whatever the store: once is enough.
const ON_SQLITE_ALONE = ['screens'];
// The same, and they measure: nothing else may keep the disk and the processors busy meanwhile.
const BY_THEMSELVES = ['idle', 'budgets'];
// S scenarios: about logins, several processes and the services behind them.
const ON_POSTGRES_ALONE = ['server', 'cut'];
const hasServices = Boolean(process.env.PAWL_TEST_POSTGRES_URL && process.env.PAWL_TEST_AMQP_URL);

function project(name: string, without: string[], globalSetup: string[], order: number): TestProjectInlineConfiguration {
  return {
    extends: true,
    test: {
      name,
      env: { E2E_STORE: name },
      include: ['e2e/scenarios/*.spec.ts'],
      exclude: without.map((file) => `e2e/scenarios/${file}.spec.ts`),
      globalSetup,
      sequence: { groupOrder: order },
    },
  };
}

const measured: TestProjectInlineConfiguration = {
  extends: true,
  test: {
    name: 'measured',
    env: { E2E_STORE: 'sqlite' },
    include: BY_THEMSELVES.map((file) => `e2e/scenarios/${file}.spec.ts`),
    globalSetup: ['e2e/browser.ts'],
    sequence: { groupOrder: 2 },
    maxWorkers: 1,
  },
};

// Two files at a time: each has its server and a browser to itself. Nothing is repeated: a scenario that fails now and then is wrong.
export default defineConfig({
  test: {
    // No `include` here: a project's own would be added to it.
    environment: 'node',
    reporters: ['./e2e/reporter.ts'],
    maxWorkers: 2,
    pool: 'forks',
    testTimeout: 90_000,
    hookTimeout: 60_000,
    retry: 0,
    projects: [
      project('sqlite', [...ON_POSTGRES_ALONE, ...BY_THEMSELVES], ['e2e/browser.ts'], 0),
      ...(hasServices ? [project('postgres', [...ON_SQLITE_ALONE, ...BY_THEMSELVES], ['e2e/browser.ts', 'e2e/echo.ts'], 1)] : []),
      measured,
    ],
  },
});
