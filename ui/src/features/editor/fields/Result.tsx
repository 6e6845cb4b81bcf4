import { write } from '../../../api/json';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import type { Evaluation } from '../model/wire';
import { codeParts } from './codeParts';
import css from './Fields.module.css';

const LONGEST = 300;

export interface ResultProps {
  evaluation: Evaluation;
  text: string;
  /** The check of the schema says the same below: then the place is enough. */
  said: boolean;
  onFix?: (text: string) => void;
}

/** What the engine says a text gives, or where it is wrong. */
export function Result({ evaluation, text, said, onFix }: ResultProps) {
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
  if (said && error.end <= error.start) return null;
  const fix = fixOf(text, error);
  return (
    <output className={css.failure} aria-label={t('editor.result')}>
      {error.end > error.start && <code className={css.caret}>{caret(text, error.start, error.end)}</code>}
      {!said && (
        <span>
          {codeParts(error.message)}
          {error.hint && <span className={css.fixHint}> {codeParts(error.hint)}</span>}
        </span>
      )}
      {fix !== null && onFix && !said && (
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
  const old = PATTERNS.map((pattern) => pattern.exec(error.message)?.[1]).find((found) => found !== undefined);
  if (name === undefined || old === undefined) return null;
  const at = text.slice(error.start, error.end).lastIndexOf(old);
  if (at < 0) return null;
  const from = error.start + at;
  return { text: text.slice(0, from) + name + text.slice(from + old.length), name };
}

/** The most exact one first. */
const PATTERNS = [/has no `([^`]+)`/, /there is no (?:node|function) `([^`]+)`/, /`([^`]+)` is not/];
