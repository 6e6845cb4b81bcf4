import { useMemo, useRef } from 'react';
import { CodeField, type CodeHandle } from '../code/CodeField';
import { useCompletionData } from '../code/completion';
import { useEvaluation } from '../code/data';
import { completeExpression, expressionLanguage, templateLanguage } from '../code/expression';
import { useForm, type WidgetProps } from './context';
import { Result } from './Result';

type Mode = 'template' | 'url' | 'expression';

/** A text with expressions: completion from real data, and below it what the engine makes of it. */
export function TextWidget({ spec, value, onChange, label, describedBy, invalid, mode }: WidgetProps & { mode: Mode }) {
  const { readOnly, remember } = useForm();
  const handle = useRef<CodeHandle>(null);
  const data = useCompletionData();
  const extensions = useMemo(() => {
    const language = mode === 'expression' ? expressionLanguage : templateLanguage;
    return [language, language.data.of({ autocomplete: completeExpression(() => data.current, mode !== 'expression') })];
  }, [mode, data]);
  const text = value === undefined || value === null ? '' : String(value);
  const evaluation = useEvaluation(text, mode, true);
  const change = (next: string) => onChange(next === '' && !spec.required ? undefined : spec.numeric ? asNumber(next) : next);
  const hint = spec.default === undefined ? undefined : String(spec.default);
  return (
    <>
      <CodeField
        value={text}
        onChange={change}
        extensions={extensions}
        label={label}
        describedBy={describedBy}
        readOnly={readOnly}
        invalid={invalid}
        placeholder={hint}
        handle={handle}
        onFocus={() => remember(handle.current, mode)}
      />
      {evaluation && <Result evaluation={evaluation} text={text} said={invalid} onFix={readOnly ? undefined : change} />}
    </>
  );
}

/** `3` is a number where numbers are taken; `03` and `1e5` stay texts until they are meant. */
function asNumber(text: string): string | number {
  if (!/^-?(0|[1-9]\d*)(\.\d+)?$/.test(text)) return text;
  const number = Number(text);
  return String(number) === text ? number : text;
}
