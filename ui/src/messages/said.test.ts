import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setLanguage, translateNow } from './index';
import { faultSaid, refusalSaid } from './said';

const unknown = { code: 'UNKNOWN_NODE', message: 'there is no node `shipp`', params: { node: 'shipp', end: 'target' } };

describe('sentences of the engine', () => {
  beforeAll(() => setLanguage('ru'));
  afterAll(() => setLanguage('en'));

  it('are said in Russian with what they name', () => {
    const t = translateNow();
    expect(faultSaid(unknown, t)).toBe('Узла `shipp` нет');
    const type = { code: 'WRONG_TYPE', message: '…', params: { field: 'url', wanted: 'text', found: 'a list' } };
    expect(faultSaid(type, t)).toBe('Поле `url`: ожидается: текст; здесь: список');
    const open = { code: 'OPEN_EXIT', message: '…', params: { node: 'ask', exits: ['timeout', 'false'] } };
    expect(faultSaid(open, t)).toBe('У `ask` есть выходы без связи: `timeout`, `false`');
    const member = { code: 'UNKNOWN_PATH', message: '…', params: { path: 'execution', member: 'idd' } };
    expect(faultSaid(member, t)).toBe('У `execution` нет `idd`');
  });
  it('leave names that people gave as they are', () => {
    expect(faultSaid({ code: 'UNKNOWN_NODE', message: '…', params: { node: 'text', end: 'target' } }, translateNow())).toBe(
      'Узла `text` нет',
    );
  });
  it('say a type in words, or the whole sentence in English', () => {
    const t = translateNow();
    const told = (wanted: string, found = 'a list') =>
      faultSaid({ code: 'WRONG_TYPE', message: 'as it is', params: { field: 'f', wanted, found } }, t);
    expect(told('a list or an object', 'text')).toBe('Поле `f`: ожидается: список или объект; здесь: текст');
    expect(told('one of high, low')).toBe('Поле `f`: ожидается: одно из: high, low; здесь: список');
    expect(told('text or one of high, low')).toBe('Поле `f`: ожидается: текст или одно из: high, low; здесь: список');
    const duration = 'a duration such as 30s or a number of seconds';
    expect(told(duration)).toBe('Поле `f`: ожидается: длительность, например 30s или число секунд; здесь: список');
    expect(told('a new kind of thing')).toBe('as it is');
    expect(told('one of a or b, c')).toBe('as it is');
    expect(told('text', 'a new kind of thing')).toBe('as it is');
  });
  it('tell apart what one code has in common', () => {
    const t = translateNow();
    const ended = { code: 'CONFLICT', message: '…', params: { refusal: 'ended', status: 'completed' } };
    expect(refusalSaid(ended, t)).toBe(`Запуск уже закончился: ${t('common.status_completed')}`);
    expect(refusalSaid({ code: 'NOT_FOUND', message: '…', params: { schema: 'a', version: 7 } }, t)).toBe('Версии 7 нет');
  });
  it('stay as the engine wrote them if a value or a text is missing', () => {
    const t = translateNow();
    expect(faultSaid({ ...unknown, params: {} }, t)).toBe(unknown.message);
    expect(faultSaid({ code: 'NEW_CODE', message: 'new', params: { node: 'a' } }, t)).toBe('new');
    expect(refusalSaid({ code: 'CONFLICT', message: 'as it is', params: null }, t)).toBe('as it is');
    expect(refusalSaid({ code: 'constructor', message: 'as it is', params: { node: 'x' } }, t)).toBe('as it is');
  });
  it('are the engine’s own in English', async () => {
    await setLanguage('en');
    expect(faultSaid(unknown, translateNow())).toBe(unknown.message);
    await setLanguage('ru');
  });
});
