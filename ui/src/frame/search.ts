/**
 * Search parameters of an address, read and written. A codec of a screen lists its parameters; unknown ones and bad values are named,
 * so that the frame can say what was left out.
 */

export type RawSearch = { [name: string]: string | string[] };

export interface Param<T> {
  /** `undefined`: not a value of this parameter. */
  read: (text: string[]) => T | undefined;
  /** An empty list: left out of the address. */
  write: (value: T) => string[];
  absent: T;
}

const one = (text: string[]) => text.at(-1) ?? '';

export const param = {
  text: (absent = ''): Param<string> => ({ read: one, write: (value) => (value === absent ? [] : [value]), absent }),
  /** A text of one form. */
  matching: (pattern: RegExp): Param<string> => ({
    read: (text) => (pattern.test(one(text)) ? one(text) : undefined),
    write: (value) => (value === '' ? [] : [value]),
    absent: '',
  }),
  choice: <const C extends string, const A extends C | undefined>(choices: readonly C[], absent: A): Param<C | A> => ({
    read: (text) => choices.find((choice) => choice === one(text)),
    write: (value) => (value === absent || value === undefined ? [] : [value]),
    absent,
  }),
  /** A comma list out of a set, in the order of the set. */
  choices: <const C extends string>(choices: readonly C[]): Param<readonly C[]> => ({
    read: (text) => {
      const names = text.join().split(',').filter(Boolean);
      return names.every((name) => (choices as readonly string[]).includes(name))
        ? choices.filter((choice) => names.includes(choice))
        : undefined;
    },
    write: (value) => (value.length === 0 ? [] : [value.join()]),
    absent: [],
  }),
  /** The same parameter several times: `label=a:1&label=b:2`. */
  list: (): Param<readonly string[]> => ({ read: (text) => text.filter(Boolean), write: (value) => [...value], absent: [] }),
  whole: (least = 0): Param<number | undefined> => ({
    read: (text) => {
      const value = Number(one(text));
      return /^\d{1,15}$/.test(one(text)) && value >= least ? value : undefined;
    },
    write: (value) => (value === undefined ? [] : [String(value)]),
    absent: undefined,
  }),
  flag: (): Param<boolean> => ({
    read: (text) => (one(text) === '1' ? true : one(text) === '0' ? false : undefined),
    write: (value) => (value ? ['1'] : []),
    absent: false,
  }),
  /** `24h`, or a time. */
  since: (): Param<string> => ({
    read: (text) => (/^\d{1,6}[smhd]$/.test(one(text)) || !Number.isNaN(Date.parse(one(text))) ? one(text) : undefined),
    write: (value) => (value === '' ? [] : [value]),
    absent: '',
  }),
};

// biome-ignore lint/suspicious/noExplicitAny: the list holds parameters of every type
export type Params = { [name: string]: Param<any> };
export type SearchOf<P extends Params> = { [N in keyof P]: P[N] extends Param<infer T> ? T : never };

export interface Codec<S> {
  read: (raw: RawSearch) => { value: S; bad: string[] };
  write: (value: Partial<S>) => string;
}

export function codec<const P extends Params>(params: P): Codec<SearchOf<P>> {
  return {
    read: (raw) => {
      const bad = Object.keys(raw).filter((name) => !Object.hasOwn(params, name));
      const value: { [name: string]: unknown } = {};
      for (const [name, how] of Object.entries(params)) {
        const given = Object.hasOwn(raw, name) ? raw[name] : undefined;
        const found = given === undefined ? how.absent : how.read(Array.isArray(given) ? given : [given]);
        if (found === undefined && given !== undefined) bad.push(name);
        value[name] = found ?? how.absent;
      }
      return { value: value as SearchOf<P>, bad };
    },
    write: (value) => {
      const search = new URLSearchParams();
      for (const [name, how] of Object.entries(params)) {
        const given = (value as { [name: string]: unknown })[name];
        if (given !== undefined) for (const text of how.write(given)) search.append(name, text);
      }
      // Commas and colons are allowed in a query; an address is read by people.
      const text = search.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
      return text ? `?${text}` : '';
    },
  };
}

/** No search parameters. */
export const noSearch = codec({});

export function parseSearch(text: string): RawSearch {
  // Without a prototype: `__proto__` is a name like any other.
  const raw: RawSearch = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const before = Object.hasOwn(raw, name) ? raw[name] : undefined;
    raw[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return raw;
}

export function writeSearch(raw: RawSearch): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(raw))
    for (const text of Array.isArray(value) ? value : [value]) search.append(name, String(text));
  const text = search.toString().replaceAll('%2C', ',').replaceAll('%3A', ':');
  return text ? `?${text}` : '';
}
