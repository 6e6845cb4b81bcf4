import type { Plural, RussianPlural } from './define';

export type Language = 'en' | 'ru';
export const LANGUAGES: readonly Language[] = ['en', 'ru'];

const rules: Record<Language, Intl.PluralRules> = { en: new Intl.PluralRules('en'), ru: new Intl.PluralRules('ru') };

/** The form of a message for a number. */
export function pluralForm(language: Language, forms: Plural | RussianPlural, n: number): string {
  const form = rules[language].select(n);
  return (forms as Partial<Record<Intl.LDMLPluralRule, string>>)[form] ?? forms.other;
}

/** Puts values into `{names}`; a name without a value stays, so that it is seen. */
export function fill(text: string, value: (name: string) => string | undefined): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => value(name) ?? whole);
}
