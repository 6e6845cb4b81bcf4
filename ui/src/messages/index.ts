/**
 * Texts of the UI. `const t = useT(); t('runs.title'); t('runs.found', { n: 12 })`. Keys, names of values and plural forms are checked by
 * the compiler. `t.name('status', x)` is for names that come as data: the text, or the data itself.
 */
import { createElement, Fragment, type ReactNode } from 'react';
import { create } from 'zustand';
import type { Message, Plural, Value, Values } from './define';
import { type Catalog, en } from './en';
import { fill, type Language, pluralForm } from './plural';

export type { Language } from './plural';
export { LANGUAGES } from './plural';

type Feature = keyof Catalog;
export type Key = { [F in Feature]: `${F}.${keyof Catalog[F] & string}` }[Feature];
type MessageOf<K extends Key> = K extends `${infer F extends Feature}.${infer N}` ? Catalog[F][N & keyof Catalog[F]] : never;

type AnyCatalog = { readonly [feature: string]: { readonly [key: string]: Message } };

interface Texts {
  language: Language;
  catalog: AnyCatalog;
}

export const useTexts = create<Texts>(() => ({ language: 'en', catalog: en }));

/** Russian is a chunk of its own. */
export async function setLanguage(language: Language): Promise<void> {
  const catalog: AnyCatalog = language === 'ru' ? (await import('./ru')).ru : en;
  document.documentElement.lang = language;
  useTexts.setState({ language, catalog });
}

export interface Translate {
  <K extends Key>(key: K, ...values: Values<MessageOf<K>>): string;
  /** With elements as values. */
  rich<K extends Key>(key: K, values: { [name: string]: ReactNode }): ReactNode;
  /** The text of `feature.prefix_name` if there is one, else the name itself. */
  name(feature: Feature, prefix: string, name: string): string;
  /** The text of a key that comes as data, or undefined. */
  maybe(key: string, values?: { [name: string]: Value }): string | undefined;
  language: Language;
}

function lookup(texts: Texts, key: string): Message | undefined {
  const at = key.indexOf('.');
  const feature = key.slice(0, at);
  const name = key.slice(at + 1);
  const group = Object.hasOwn(texts.catalog, feature) ? texts.catalog[feature] : undefined;
  return group && Object.hasOwn(group, name) ? group[name] : undefined;
}

function shown(language: Language, value: unknown): string {
  return typeof value === 'number' || typeof value === 'bigint' ? new Intl.NumberFormat(language).format(value) : String(value);
}

function text(texts: Texts, key: string, values: { [name: string]: unknown } = {}): string | undefined {
  const message = lookup(texts, key);
  if (message === undefined) return undefined;
  const pattern = typeof message === 'string' ? message : pluralForm(texts.language, message as Plural, Number(values.n));
  return fill(pattern, (name) => (Object.hasOwn(values, name) ? shown(texts.language, values[name]) : undefined));
}

function rich(texts: Texts, key: string, values: { [name: string]: ReactNode }): ReactNode {
  const message = lookup(texts, key);
  if (message === undefined) return key;
  const pattern = typeof message === 'string' ? message : pluralForm(texts.language, message as Plural, Number(values.n));
  const parts = pattern.split(/(\{\w+\})/g).map((part) => {
    const name = /^\{(\w+)\}$/.exec(part)?.[1];
    if (name === undefined || !Object.hasOwn(values, name)) return part;
    const value = values[name];
    return typeof value === 'number' ? shown(texts.language, value) : value;
  });
  return createElement(Fragment, null, ...parts);
}

function translator(texts: Texts): Translate {
  const translate = (key: string, values?: { [name: string]: unknown }) => text(texts, key, values) ?? key;
  // A function has a `name` of its own that assignment cannot change.
  Object.defineProperty(translate, 'name', {
    value: (feature: string, prefix: string, name: string) => text(texts, `${feature}.${prefix}_${name}`) ?? name,
  });
  return Object.assign(translate, {
    rich: (key: string, values: { [name: string]: ReactNode }) => rich(texts, key, values),
    maybe: (key: string, values?: { [name: string]: Value }) => text(texts, key, values),
    language: texts.language,
  }) as unknown as Translate;
}

let known: { texts: Texts; translate: Translate } | null = null;

function current(texts: Texts): Translate {
  if (known?.texts.catalog !== texts.catalog) known = { texts, translate: translator(texts) };
  return known.translate;
}

/** The translator of the present language; a component that uses it shows a change of the language at once. */
export function useT(): Translate {
  return current(useTexts());
}

/** Outside components. */
export function translateNow(): Translate {
  return current(useTexts.getState());
}
