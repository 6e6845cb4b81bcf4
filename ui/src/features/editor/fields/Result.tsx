import { write } from '../../../api/json';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import type { Evaluation } from '../model/wire';
import css from './Fields.module.css';

const LONGEST = 300;

/** What the engine says a text gives, or where it is wrong. */
export function Result({ evaluation, text, onFix }: { evaluation: Evaluation; text: string; onFix?: (text: string) => void }) {
  const t = useT();
  const { error } = evaluation;
  if (evaluation.ok || !error) {
    const shown = evaluation.cut ? t('editor.result_cut', { bytes: evaluation.bytes ?? 0 }) : write(evaluation.value ?? null);
    return (
      <output className={css.result} aria-label={t('editor.result')}>
        <span className={css.type}>{evaluation.type}</span>
        <code>{shown.length > LONGEST ? `${shown.slice(0, LONGEST)}…` : shown}</code>
      </output>
    );
  }
  const fix = fixOf(text, error);
  return (
    <output className={css.failure} aria-label={t('editor.result')}>
      {error.end > error.start && <code className={css.caret}>{caret(text, error.start, error.end)}</code>}
      <span>
        {error.message}
        {error.hint && <span className={css.hint}> {error.hint}</span>}
      </span>
      {fix !== null && onFix && (
        <Button size="small" onClick={() => onFix(fix.text)}>
          {t('editor.fix_to', { name: fix.name })}
        </Button>
      )}
    </output>
  );
}

/** The line of the mistake with a caret row below it. */
function caret(text: string, start: number, end: number): string {
  const from = text.lastIndexOf('\n', start - 1) + 1;
  const stop = text.indexOf('\n', start);
  const line = text.slice(from, stop < 0 ? undefined : stop);
  const left = Math.max(0, start - from - 24);
  const length = Math.max(1, Math.min(end, stop < 0 ? text.length : stop) - start);
  return `${line.slice(left, left + 56)}\n${' '.repeat(start - from - left)}${'^'.repeat(Math.min(length, 40))}`;
}

/** "did you mean `x`?" can be done with one click: the last name of the path becomes the known one. */
export function fixOf(
  text: string,
  error: { message: string; hint: string | null; start: number; end: number },
): { text: string; name: string } | null {
  const name = /^did you mean `([^`]+)`\??$/.exec(error.hint ?? '')?.[1];
  const wrong = /has no `([^`]+)`|there is no (?:node|function) `([^`]+)`|`([^`]+)` is not/.exec(error.message);
  const old = wrong?.[1] ?? wrong?.[2] ?? wrong?.[3];
  if (name === undefined || old === undefined) return null;
  const at = text.slice(error.start, error.end).lastIndexOf(old);
  if (at < 0) return null;
  const from = error.start + at;
  return { text: text.slice(0, from) + name + text.slice(from + old.length), name };
}
