/** What differs between two values, by pointer: objects by name, lists by place. */
import { isObject, type Json, write } from '../../api/json';
import type { Change } from '../../api/model';
import { escapePointer } from '../../ui/json-lines';

export function changesOf(before: Json, after: Json, path = ''): Change[] {
  const names = namesOf(before, after);
  if (names === null) return write(before) === write(after) ? [] : [{ op: 'changed', path, before, after }];
  return names.flatMap((name): Change[] => {
    const at = `${path}/${escapePointer(name)}`;
    const [one, other] = [memberOf(before, name), memberOf(after, name)];
    if (one === undefined) return [{ op: 'added', path: at, after: other as Json }];
    if (other === undefined) return [{ op: 'removed', path: at, before: one }];
    return changesOf(one, other, at);
  });
}

/** Of two values of one kind that have members; of any other pair null. */
function namesOf(before: Json, after: Json): string[] | null {
  if (isObject(before) && isObject(after)) return [...new Set([...Object.keys(before), ...Object.keys(after)])];
  if (!Array.isArray(before) || !Array.isArray(after)) return null;
  return Array.from({ length: Math.max(before.length, after.length) }, (_, at) => String(at));
}

function memberOf(value: Json, name: string): Json | undefined {
  if (Array.isArray(value)) return value[Number(name)];
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}
