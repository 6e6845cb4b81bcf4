import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Execution, Explanation } from '../api/model';
import { setLanguage, translateNow } from '../messages';
import { explained, sentenceOf, timeOf } from './sentence';

const AT = '2026-03-01T12:03:11.402117Z';
const HOLDER = '0199b5b1-0000-7000-8000-000000000001';
const say = (reason: string, params: Explanation['params']) =>
  explained({ reason, sentence: 'as the engine wrote it', params, facts: {} }, translateNow());

describe('why a run is where it is', () => {
  beforeAll(() => setLanguage('ru'));
  afterAll(() => setLanguage('en'));

  it('names the quota, who holds it, since when, and who is before', () => {
    const full = { node: 'a', in_line: true, quota: 'key:order-check/ACME', limit: 1, holder: HOLDER, since: AT, holders: 3, before: 4 };
    const said = say('waiting_for_quota', full);
    expect(said).toBe(
      `Запуск ждёт квоты \`key:order-check/ACME\` (предел 1); её занимает запуск ${HOLDER}, с ${timeOf(AT)}. Занимают её ещё: 2. Перед ним в очереди: 4.`,
    );
    expect(say('waiting_for_quota', { ...full, holders: 1, before: 0 })).toMatch(/ Он следующий в своей очереди\.$/);
    expect(say('waiting_for_quota', { ...full, holders: 1, before: 10_000 })).toMatch(/ не меньше 10\s000\.$/);
    expect(say('waiting_for_quota', { ...full, rate: '10/s', opens_at: AT, before: 0 })).toContain('пропускает 10/s');
    expect(say('waiting_for_quota', { in_line: false })).toContain('pawl doctor --fix');
    expect(say('waiting_for_quota', { in_line: true, before: 0 })).toContain('есть место');
    expect(say('waiting_for_quota', { in_line: true, quota: 'tenant:a', limit: 0, holders: 0, before: 0 })).toContain(
      'никого не пропускает',
    );
  });
  it('names the worker, the time and the last failure', () => {
    const running = { node: 'fetch', worker: 'w1', left_ms: 59_000, stop_requested: false, pause_requested: true };
    expect(say('running', running)).toBe(
      'Узел `fetch` исполняет `w1`; аренда закончится через 59 с. Запуску велено встать на паузу, он встанет после этого узла.',
    );
    const failed = { tries: 2, error_code: 'HTTP_STATUS', error_message: '503' };
    expect(say('waiting_to_retry', { node: 'fetch', wake_at: AT, in_ms: 5, overdue: true, ...failed })).toBe(
      `Следующая попытка узла \`fetch\`: ${timeOf(AT)}. Этот срок уже прошёл: работает ли исполнитель с ролью \`timers\`? Неудачных попыток узла: 2; последняя: HTTP_STATUS, 503.`,
    );
    expect(say('sleeping', { node: 'nap', wake_at: AT })).toBe(`Запуск спит на узле \`nap\` до ${timeOf(AT)}.`);
  });
  it('has a sentence for each reason of the engine', () => {
    const all = { node: 'a', worker: 'w', at: AT, left_ms: 1, idle_ms: 1, wake_at: AT, event: 'go', node_type: 'new' };
    const reasons =
      'running no_worker_for_type lease_expired waiting_for_worker sleeping waiting_to_retry waiting_for_event waiting_for_children ' +
      'scheduled paused waiting_for_debugger no_queue no_worker queued';
    for (const reason of reasons.split(' ')) expect(say(reason, all), reason).toMatch(/^(Узел|Запуск|Начало|Следующая|Тип|Исполнитель) /);
    for (const status of ['completed', 'failed', 'stopped', 'failed_stuck'])
      expect(say('ended', { status, at: AT, error_code: 'X', error_message: 'y', can_retry: true }), status).toContain(
        'Закончившийся запуск не',
      );
  });
  it('is the engine’s own sentence where a value is missing', () => {
    expect(say('sleeping', { node: 'nap' })).toBe('as the engine wrote it');
    expect(say('some_new_reason', { node: 'nap' })).toBe('as the engine wrote it');
  });
  it('is one line without marks; of a failed run it is the error', () => {
    const told: Explanation = { reason: 'paused', sentence: 'x', params: { node: 'nap' }, facts: {} };
    expect(sentenceOf(told, { error: null } as Execution, translateNow())).toContain('перед узлом nap;');
    const failed = { error: { code: 'TIMEOUT', message: 'too slow' } } as unknown as Execution;
    expect(sentenceOf({ ...told, reason: 'ended' }, failed, translateNow())).toBe('TIMEOUT: too slow');
  });
});
