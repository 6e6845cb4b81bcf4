/** What is done with a run as lines for the terminal. */
import { path } from '../../api/client';
import { isObject, type Json, write } from '../../api/json';
import type { AsText } from '../../frame/CopyAs';
import { curl, pawl } from '../../frame/terminal';

/** A body of the API as the dialogs send it. */
export type Body = { [field: string]: Json };

const of = (id: string, ...parts: string[]) => path('/api/executions', id, ...parts);

export function showLines(id: string): AsText {
  return { command: () => pawl('executions show', [id]), curl: () => curl('GET', of(id)) };
}

export function stopLines(id: string): AsText {
  return { command: () => pawl('executions stop', [id]), curl: () => curl('POST', of(id, 'stop'), { body: {} }) };
}

export function retryLines(id: string, body: Body, disabledReason: string | null | undefined): AsText {
  const { max_steps, new_effect_key, again, idempotency_key, ...rest } = body;
  const flags = {
    ...common(rest),
    'max-steps': textOf(max_steps),
    'new-effect-key': new_effect_key === true,
    again: again === true,
    'idempotency-key': textOf(idempotency_key),
  };
  return { command: () => pawl('executions retry', [id], flags), curl: () => curl('POST', of(id, 'retry'), { body }), disabledReason };
}

export function forkLines(id: string, body: Body, disabledReason: string | null | undefined): AsText {
  const { from_seq, input, ...rest } = body;
  const flags = { from: textOf(from_seq), ...common(rest), input: input === undefined ? undefined : write(input) };
  return { command: () => pawl('executions fork', [id], flags), curl: () => curl('POST', of(id, 'fork'), { body }), disabledReason };
}

export function signalLines(id: string, name: string, payload: Json, key: string, disabledReason: string | null | undefined): AsText {
  return {
    command: () => pawl('executions signal', [id, name], { payload: write(payload), 'signal-id': key }),
    curl: () => curl('POST', of(id, 'signals', name), { body: payload, headers: { 'idempotency-key': key } }),
    disabledReason,
  };
}

function common({ variables, version, debug_mode }: Body) {
  const set = isObject(variables ?? null) ? Object.entries(variables as Body) : [];
  return { var: set.map(([name, value]) => `${name}=${write(value)}`), version: textOf(version), debug: debug_mode === true };
}

const textOf = (value: Json | undefined) => (value === undefined || value === null ? undefined : String(value));
