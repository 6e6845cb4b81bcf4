/** What the check found, and what can be done about it with one click. */
import type { Actions } from './actions';
import type { Diagnostic } from './wire';

/** "did you mean `x`?": the wrong name is the first that the message quotes behind "no", or the end of the pointer. */
export function quickFix(diagnostic: Diagnostic, actions: Actions): (() => void) | null {
  const to = /^did you mean `([^`]+)`/.exec(diagnostic.hint ?? '')?.[1];
  if (to === undefined) return null;
  const from = wrongName(diagnostic);
  return from === null ? null : () => actions.replaceAt(diagnostic.pointer, from, to);
}

function wrongName({ message, pointer, code }: Diagnostic): string | null {
  if (code === 'UNKNOWN_FIELD') return decodeURIComponentSafe(pointer.split('/').at(-1) ?? '');
  const quoted = /(?:no (?:\w+ ){0,2}|unknown (?:\w+ ){0,2}|has no )`([^`]+)`/.exec(message)?.[1];
  return quoted ?? null;
}

const decodeURIComponentSafe = (text: string) => text.replaceAll('~1', '/').replaceAll('~0', '~') || null;

const RANK = { error: 0, warning: 1, note: 2 };

export function sorted(diagnostics: Diagnostic[]): Diagnostic[] {
  return [...diagnostics].sort((a, b) => RANK[a.severity] - RANK[b.severity] || (a.line ?? 0) - (b.line ?? 0));
}

export const errorsOf = (diagnostics: Diagnostic[] | null) => (diagnostics ?? []).filter((one) => one.severity === 'error');
