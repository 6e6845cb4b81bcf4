import { describe, expect, it } from 'vitest';
import { en } from './en';
import { setLanguage, translateNow } from './index';
import { pluralForm } from './plural';
import { ru } from './ru';

type Group = { [key: string]: string | { [form: string]: string } };
const names = (text: string) => [...new Set([...text.matchAll(/\{(\w+)\}/g)].map((found) => found[1]))].sort();
const forms = (message: string | { [form: string]: string }) => (typeof message === 'string' ? [message] : Object.values(message));

describe('plural rules', () => {
  const runs = { one: 'запуск', few: 'запуска', many: 'запусков', other: 'запуска' };
  it.each([
    [1, 'запуск'],
    [2, 'запуска'],
    [5, 'запусков'],
    [11, 'запусков'],
    [12, 'запусков'],
    [21, 'запуск'],
    [24, 'запуска'],
    [111, 'запусков'],
    [0, 'запусков'],
    [1.5, 'запуска'],
  ])('Russian %d', (n, word) => expect(pluralForm('ru', runs, n)).toBe(word));
  it.each([
    [0, 'runs'],
    [1, 'run'],
    [2, 'runs'],
  ])('English %d', (n, word) => expect(pluralForm('en', { one: 'run', other: 'runs' }, n)).toBe(word));
});

describe('the catalogues', () => {
  for (const [feature, group] of Object.entries(en as unknown as { [feature: string]: Group })) {
    it(`${feature}: the same values in both languages, no text left empty`, () => {
      const russian = (ru as unknown as { [feature: string]: Group })[feature] ?? {};
      for (const [key, message] of Object.entries(group)) {
        const other = russian[key] ?? '';
        const own = [...new Set(forms(message).flatMap(names))].sort();
        const theirs = [...new Set(forms(other).flatMap(names))].sort();
        expect([key, theirs]).toEqual([key, own]);
        for (const text of [...forms(message), ...forms(other)]) expect([key, text.trim()]).not.toEqual([key, '']);
      }
    });
  }
  it('say of each field of a node type what it is called and what it is for', () => {
    const keys = Object.keys(ru.fields);
    const names = (prefix: string) => keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
    expect(names('title_')).toEqual(names('text_'));
    expect(keys.length).toBe(names('title_').length * 2);
    const types = Object.keys(en.nodes).flatMap((key) => (key.startsWith('title_') ? key.slice('title_'.length) : []));
    const strangers = names('title_').filter((name) => !types.some((type) => name.startsWith(`${type}_`)));
    expect(strangers).toEqual([]);
  });
  it('fill in values, with the numbers of the language', async () => {
    expect(translateNow()('runs.bulk_selected', { n: 12_000 })).toBe('12,000 selected');
    await setLanguage('ru');
    expect(translateNow()('runs.bulk_go_retry', { n: 22 })).toBe('Повторить 22 запуска');
    await setLanguage('en');
  });
  it('names that come as data are shown as they are if there is no text', () => {
    expect(translateNow().name('common', 'status', 'waiting')).toBe('waiting');
    expect(translateNow().name('common', 'status', '__proto__')).toBe('__proto__');
    expect(translateNow().maybe('errors.constructor')).toBeUndefined();
  });
});
