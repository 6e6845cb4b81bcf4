// One line per scenario, the failures in full, and `N passed, N failed` at the end.
import type { UserConsoleLog } from 'vitest';
import type { Reporter, TestCase, TestModule } from 'vitest/node';

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

export default class ScenarioReporter implements Reporter {
  #started = Date.now();
  #failed: string[] = [];

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    const time = seconds(test.diagnostic()?.duration ?? 0);
    console.log(
      `${state === 'passed' ? 'ok  ' : state === 'skipped' ? 'skip' : 'FAIL'} ${test.project.name.padEnd(8)} ${test.fullName} (${time})`,
    );
    for (const error of errors ?? []) {
      this.#failed.push(test.fullName);
      console.log(`     ${error.stack ?? error.message}`.replaceAll('\n', '\n     '));
    }
  }

  /** What scenarios measure. */
  onUserConsoleLog(log: UserConsoleLog): void {
    process.stdout.write(log.content);
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) {
      this.#failed.push(module.moduleId);
      console.log(`FAIL ${module.moduleId}\n     ${error.stack ?? error.message}`);
    }
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly { stack?: string; message: string }[]): void {
    for (const error of unhandled) console.log(`unhandled: ${error.stack ?? error.message}`);
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const count = (state: string) => tests.filter((test) => test.result().state === state).length;
    const broken = modules.filter((module) => module.errors().length > 0).length;
    const failed = count('failed') + broken + unhandled.length;
    const skipped = count('skipped') + count('pending');
    if (!process.env.PAWL_TEST_POSTGRES_URL || !process.env.PAWL_TEST_AMQP_URL)
      console.log('left out: postgres (PAWL_TEST_POSTGRES_URL and PAWL_TEST_AMQP_URL are not set)');
    console.log(
      `${count('passed')} passed, ${failed} failed${skipped ? `, ${skipped} skipped` : ''} in ${seconds(Date.now() - this.#started)}`,
    );
  }
}
