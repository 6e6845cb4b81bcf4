/** A specification as YAML, for those who write it themselves. The parser is loaded when it is needed. */
import { isObject, type Json } from '../../api/json';
import type { Spec } from './model';

export async function specText(spec: Spec): Promise<string> {
  const { stringify } = await import('yaml');
  return stringify(plain(spec as unknown as Json));
}

/** Throws what is wrong with the text; whether the specification is right is for the engine to say. */
export async function readSpec(source: string): Promise<Spec> {
  const { parse } = await import('yaml');
  const value = small(parse(source, { intAsBigInt: true, prettyErrors: true }) as Json);
  if (!isObject(value)) throw new Error('{policy, action, …}');
  const spec = isObject(value.spec) ? value.spec : value;
  return spec as unknown as Spec;
}

/** Integers that a number holds exactly become numbers. */
function small(value: Json): Json {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(small);
  if (isObject(value)) return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, small(one)]));
  return value;
}

/** Without what is not there: YAML would write `null`. */
function plain(value: Json | undefined): Json {
  if (Array.isArray(value)) return value.map(plain);
  if (isObject(value))
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, one]) => one !== undefined && one !== null)
        .map(([key, one]) => [key, plain(one)]),
    );
  return value ?? null;
}
