/** Values without expressions: choices, switches, numbers, durations, names. */
import { useQuery } from '@tanstack/react-query';
import { useEffect, useId, useState } from 'react';
import { api } from '../../../api/client';
import type { Page } from '../../../api/model';
import { queries } from '../../../api/queries';
import { useT } from '../../../messages';
import { Checkbox, Input, Select } from '../../../ui/Field';
import { useEditor } from '../model/context';
import type { FieldSpec } from '../model/fields';
import { useForm, type WidgetProps } from './context';

export function EnumWidget({ spec, value, onChange, id, describedBy }: WidgetProps) {
  const t = useT();
  const { readOnly } = useForm();
  const present = value === undefined ? '' : String(value);
  const unset = spec.default === undefined ? t('editor.not_set') : t('editor.default_is', { value: String(spec.default) });
  const known = spec.choices.includes(present) || present === '' ? spec.choices : [...spec.choices, present];
  const choices = known.map((choice) => ({ value: choice, name: choice }));
  return (
    <Select
      id={id}
      aria-describedby={describedBy}
      disabled={readOnly}
      value={present}
      choices={spec.required && present !== '' ? choices : [{ value: '', name: unset }, ...choices]}
      onValue={(next) => onChange(next === '' ? undefined : next)}
    />
  );
}

export function BooleanWidget({ spec, value, onChange, id, label, describedBy }: WidgetProps) {
  const { readOnly } = useForm();
  const standard = spec.default === true;
  const present = typeof value === 'boolean' ? value : standard;
  return (
    <Checkbox
      id={id}
      label={label}
      aria-describedby={describedBy}
      disabled={readOnly}
      checked={present}
      onChange={(event) => onChange(event.target.checked === standard && !spec.required ? undefined : event.target.checked)}
    />
  );
}

/** Keeps what is typed while it is no number yet; the engine's check says what is wrong with it. */
export function NumberWidget({ spec, value, onChange, id, describedBy, invalid }: WidgetProps) {
  const { readOnly } = useForm();
  const range = spec.minimum !== undefined && spec.maximum !== undefined ? `${spec.minimum}–${spec.maximum}` : '';
  const change = (text: string) => {
    const number = Number(text);
    onChange(text.trim() === '' ? undefined : Number.isFinite(number) && String(number) === text.trim() ? number : text);
  };
  return (
    <Input
      id={id}
      mono
      inputMode="decimal"
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      disabled={readOnly}
      value={value === undefined || value === null ? '' : String(value)}
      placeholder={spec.default === undefined ? range : String(spec.default)}
      onChange={(event) => change(event.target.value)}
    />
  );
}

/** `30s`, `5m`, `1h30m`; a plain number stays a number. */
export function DurationWidget(props: WidgetProps) {
  const { spec, value, onChange, id, describedBy, invalid } = props;
  const { readOnly } = useForm();
  const change = (text: string) =>
    onChange(text === '' ? undefined : /^\d+(\.\d+)?$/.test(text) && String(Number(text)) === text ? Number(text) : text);
  return (
    <Input
      id={id}
      mono
      aria-describedby={describedBy}
      aria-invalid={invalid || undefined}
      disabled={readOnly}
      value={value === undefined || value === null ? '' : String(value)}
      placeholder={spec.default === undefined ? '30s, 5m, 1h30m' : String(spec.default)}
      onChange={(event) => change(event.target.value)}
    />
  );
}

const PLACES: Record<string, string> = { connections: '/api/connections', secrets: '/api/secrets', env: '/api/env' };

function useNames(source: FieldSpec['source']): string[] {
  const definition = useEditor((state) => state.document.definition);
  const named = useQuery({
    queryKey: ['names', source],
    queryFn: ({ signal }) => api.get<Page<{ name: string }>>(PLACES[source ?? ''] ?? '', undefined, signal),
    enabled: source !== undefined && PLACES[source] !== undefined,
    staleTime: 60_000,
  });
  const schemas = useQuery({ ...queries.schemas({ limit: 500 }), enabled: source === 'schemas' });
  if (source === 'nodes') return definition.nodes.map((node) => node.id);
  if (source === 'schemas') return schemas.data?.items.map((schema) => schema.name) ?? [];
  return named.data?.items.map((item) => item.name) ?? [];
}

/** A text as it is; names that are known are offered. */
export function PlainTextWidget({ spec, value, onChange, id, describedBy, invalid }: WidgetProps) {
  const { readOnly } = useForm();
  const source = spec.source ?? (spec.name === 'connection' ? 'connections' : undefined);
  const names = useNames(source);
  const list = useId();
  return (
    <>
      <Input
        id={id}
        mono
        list={names.length > 0 ? list : undefined}
        aria-describedby={describedBy}
        aria-invalid={invalid || undefined}
        disabled={readOnly}
        value={value === undefined || value === null ? '' : String(value)}
        placeholder={spec.default === undefined ? undefined : String(spec.default)}
        onChange={(event) => onChange(event.target.value === '' && !spec.required ? undefined : event.target.value)}
      />
      {names.length > 0 && (
        <datalist id={list}>
          {names.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
      )}
    </>
  );
}

/** A text that is only taken over when it is left: names of keys and nodes. */
export function useSettled(value: string, onChange: (value: string) => void) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  const settle = () => {
    if (text !== value) onChange(text);
  };
  return { text, setText, settle, reset: () => setText(value) };
}
