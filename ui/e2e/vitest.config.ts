import { defineConfig } from 'vitest/config';

// One file after the other: each has its server, all share one browser. Nothing is repeated: a scenario that fails now and then is wrong.
export default defineConfig({
  test: {
    environment: 'node',
    include: ['e2e/scenarios/*.spec.ts'],
    globalSetup: ['e2e/browser.ts'],
    reporters: ['./e2e/reporter.ts'],
    fileParallelism: false,
    pool: 'forks',
    testTimeout: 90_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
