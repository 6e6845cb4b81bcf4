import { javascript } from '@codemirror/lang-javascript';
import { sql } from '@codemirror/lang-sql';
import { yaml } from '@codemirror/lang-yaml';
import { useEffect, useMemo, useRef, useState } from 'react';
import { same } from '../../../graph/difference';
import { readValue, writeValue } from '../../../graph/document';
import { useT } from '../../../messages';
import { CodeField, type CodeHandle } from '../code/CodeField';
import { useForm, type WidgetProps } from './context';
import css from './Fields.module.css';
import { TextWidget } from './TextWidget';

/** Text with expressions, or anything else as YAML. */
export function AnyWidget(props: WidgetProps) {
  const structured = props.value !== null && typeof props.value === 'object';
  const scalar = props.value !== undefined && typeof props.value !== 'string' && !structured;
  const [asYaml, setYaml] = useState(structured || scalar);
  const t = useT();
  const { readOnly } = useForm();
  const yamlNow = asYaml || structured || scalar;
  return (
    <>
      {yamlNow ? <YamlWidget {...props} /> : <TextWidget {...props} mode="template" />}
      {!readOnly && !structured && !scalar && (
        <div className={css.switch} role="group" aria-label={t('editor.written_as')}>
          <button type="button" aria-pressed={!yamlNow} onClick={() => setYaml(false)}>
            {t('editor.as_text')}
          </button>
          <button type="button" aria-pressed={yamlNow} onClick={() => setYaml(true)}>
            YAML
          </button>
        </div>
      )}
    </>
  );
}

/** The text is kept as typed while it means the same value. */
export function YamlWidget({ value, onChange, label, describedBy, invalid }: WidgetProps) {
  const { readOnly, remember } = useForm();
  const handle = useRef<CodeHandle>(null);
  const [text, setText] = useState(() => writeValue(value));
  const [problem, setProblem] = useState<string | null>(null);
  const told = useRef(value);
  useEffect(() => {
    if (same(told.current, value)) return;
    told.current = value;
    setText(writeValue(value));
    setProblem(null);
  }, [value]);
  const extensions = useMemo(() => [yaml()], []);
  const change = (next: string) => {
    setText(next);
    const reading = readValue(next);
    setProblem(reading.ok ? null : reading.message);
    if (!reading.ok) return;
    told.current = reading.value;
    onChange(reading.value);
  };
  return (
    <>
      <CodeField
        value={text}
        onChange={change}
        extensions={extensions}
        label={label}
        describedBy={describedBy}
        readOnly={readOnly}
        multiline
        invalid={invalid || problem !== null}
        className={css.yaml}
        handle={handle}
        onFocus={() => remember(handle.current, 'template')}
      />
      {problem !== null && <p className={css.error}>{problem}</p>}
    </>
  );
}

/** JavaScript and SQL, never with `{{ }}`. */
export function SourceWidget({ spec, value, onChange, label, describedBy, invalid }: WidgetProps) {
  const { readOnly } = useForm();
  const extensions = useMemo(() => [spec.widget === 'sql' ? sql() : javascript()], [spec.widget]);
  return (
    <CodeField
      value={typeof value === 'string' ? value : ''}
      onChange={(next) => onChange(next === '' && !spec.required ? undefined : next)}
      extensions={extensions}
      label={label}
      describedBy={describedBy}
      readOnly={readOnly}
      multiline
      indents
      invalid={invalid}
    />
  );
}
