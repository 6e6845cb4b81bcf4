/** What a message is. English files define the keys; a Russian file without one of them, or with a wrong plural, does not compile. */

export interface Plural {
  one: string;
  other: string;
}
export interface RussianPlural {
  one: string;
  few: string;
  many: string;
  other: string;
}
export type Message = string | Plural;

/** The type keeps the texts: their `{names}` become the parameters of `t`. */
export function messages<const T extends { readonly [key: string]: Message }>(texts: T): T {
  return texts;
}

export type Russian<T> = { readonly [K in keyof T]: T[K] extends string ? string : RussianPlural };

export type Names<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never;
export type NamesOf<M> = M extends string ? Names<M> : M extends { other: infer O extends string } ? Names<O> | 'n' : never;
export type Value = string | number | bigint;
export type Values<M> = [NamesOf<M>] extends [never] ? [] : [values: { [K in NamesOf<M>]: K extends 'n' ? number : Value }];
