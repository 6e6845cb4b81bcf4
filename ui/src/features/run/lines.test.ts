import { describe, expect, it } from 'vitest';
import type { AsText } from '../../frame/CopyAs';
import { forkLines, retryLines, showLines, signalLines, stopLines } from './lines';

const URL = window.location.origin;
const commandOf = ({ command }: AsText) => (typeof command === 'function' ? command() : '');

describe('what is done with a run, for the terminal', () => {
  it('names the server and is quoted', () => {
    expect(commandOf(showLines('r1'))).toBe(`pawl executions show r1 --url ${URL}`);
    expect(commandOf(stopLines('r1'))).toBe(`pawl executions stop r1 --url ${URL}`);
    expect(stopLines('r1').curl()).toBe(`curl -s ${URL}/api/executions/r1/stop -H 'content-type: application/json' --data-raw '{}'`);
  });
  it('says all of a retry and a fork', () => {
    const retry = { debug_mode: true, new_effect_key: true, again: false, idempotency_key: 'k', max_steps: 9, variables: { a: 'x y' } };
    expect(commandOf(retryLines('r1', retry, null))).toBe(
      `pawl executions retry r1 --var 'a="x y"' --debug --max-steps 9 --new-effect-key --idempotency-key k --url ${URL}`,
    );
    const fork = { from_seq: 0, debug_mode: false, input: { n: 1 }, version: 'latest' };
    expect(commandOf(forkLines('r1', fork, null))).toBe(`pawl executions fork r1 --from 0 --version latest --input '{"n":1}' --url ${URL}`);
  });
  it('sends an event once, however often the line is run', () => {
    const lines = signalLines('r1', 'it is', { ok: true }, 'k', null);
    expect(commandOf(lines)).toBe(`pawl executions signal r1 'it is' --payload '{"ok":true}' --signal-id k --url ${URL}`);
    expect(lines.curl()).toContain(`/signals/it%20is -H 'idempotency-key: k'`);
  });
});
