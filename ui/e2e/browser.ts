// A Chromium for each file that runs at a time: the clipboard is the browser's. CHROMIUM is its path.
import { type BrowserServer, chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  export interface ProvidedContext {
    browsers: string[];
  }
}

let servers: BrowserServer[] = [];

function launch(): Promise<BrowserServer> {
  return chromium.launchServer({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export async function setup(project: TestProject): Promise<void> {
  servers = await Promise.all(Array.from({ length: project.config.maxWorkers }, launch));
  project.provide(
    'browsers',
    servers.map((server) => server.wsEndpoint()),
  );
}

export async function teardown(): Promise<void> {
  await Promise.all(servers.map((server) => server.close()));
}
