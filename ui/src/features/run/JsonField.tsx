import { useState } from 'react';
import { type Json, read, write } from '../../api/json';
import { useT } from '../../messages';
import { Field, TextArea } from '../../ui/Field';

export interface JsonText {
  text: string;
  /** Undefined: the text is not JSON. */
  value: Json | undefined;
  error: string | null;
}

export function parsed(text: string): JsonText {
  if (text.trim() === '') return { text, value: undefined, error: null };
  try {
    return { text, value: read(text), error: null };
  } catch (thrown) {
    return { text, value: undefined, error: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

export function useJsonText(first: Json | undefined): [JsonText, (text: string) => void] {
  const [state, setState] = useState(() => parsed(first === undefined ? '' : write(first, 2)));
  return [state, (text) => setState(parsed(text))];
}

/** JSON to be typed: it says at once what is wrong with it. */
export function JsonField({
  label,
  hint,
  state,
  onText,
  rows = 6,
}: {
  label: string;
  hint?: string;
  state: JsonText;
  onText: (text: string) => void;
  rows?: number;
}) {
  const t = useT();
  return (
    <Field label={label} hint={hint} error={state.error === null ? undefined : t('run.not_json', { error: state.error })}>
      {(ids) => <TextArea {...ids} mono rows={rows} value={state.text} onChange={(event) => onText(event.target.value)} />}
    </Field>
  );
}
