import { History } from 'lucide-react';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { type Json, write } from '../api/json';
import type { Definition } from '../api/model';
import { useT } from '../messages';
import { Button } from './Button';
import { Chip } from './Chip';
import { Field, Input, Select, TextArea } from './Field';
import css from './InputForm.module.css';
import { beginning, fieldsOf, formOf, meant, misfit, readInput, withField } from './input-form';
import { type FormField, type InputProblem, placed } from './input-schema';

/** What the engine said about an input that was sent. */
export interface Refused {
  problems: readonly InputProblem[];
  sent: Json;
}

/**
 * The input of a start, as fields that the schema declares (or that its expressions read), or as JSON. One text is the truth. Of one
 * form all its life: what it filled in for one schema goes when another is chosen.
 */
export function InputForm({
  value,
  onChange,
  definition,
  last,
  refused,
  defaults = true,
}: {
  value: string;
  onChange: (text: string) => void;
  definition: Definition | undefined;
  /** An earlier input, offered. */
  last?: string;
  refused?: Refused | null;
  /** Begins with the declared defaults. */
  defaults?: boolean;
}) {
  const t = useT();
  const suggested = useMemo(() => fieldsOf(definition), [definition]);
  useDefaults(defaults && definition ? beginning(suggested) : null, value, onChange);
  const [asJson, setAsJson] = useState(false);
  const fields = formOf(value, suggested);
  const form = !asJson && fields !== null && fields.length > 0;
  const found = placed(refused?.problems ?? [], refused?.sent ?? null, fields ?? []);
  const shown = useRef<HTMLElement>(null);
  // The first field that is wrong takes the focus when the engine has refused.
  useEffect(() => {
    if (refused) shown.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [refused]);
  return (
    <section className={css.input} ref={shown}>
      <header className={css.head}>
        <h3>{t('input.title')}</h3>
        <Chip on={form} onToggle={() => setAsJson(false)}>
          {t('input.form')}
        </Chip>
        <Chip on={!form} onToggle={() => setAsJson(true)}>
          JSON
        </Chip>
        {last !== undefined && last !== value && (
          <Button className={css.last} size="small" kind="quiet" icon={<History />} onClick={() => onChange(last)}>
            {t('input.last')}
          </Button>
        )}
      </header>
      {form ? (
        <Fields fields={fields} problems={found.fields} onField={(name, member) => onChange(withField(value, name, member))} />
      ) : (
        <JsonText
          value={value}
          onChange={onChange}
          problems={refused && write(refused.sent) === written(value) ? refused.problems : []}
          hint={!asJson && fields?.length === 0 ? t('input.none') : undefined}
        />
      )}
      {form && found.rest.length > 0 && <Problems list={found.rest} />}
    </section>
  );
}

/** Once for a definition, and only where nothing was typed. Null: there is no definition, or none that is known yet. */
function useDefaults(begin: string | null, value: string, onChange: (text: string) => void): void {
  const filled = useRef('');
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for a definition; an emptied form stays empty
  useEffect(() => {
    if (value !== '' && value !== filled.current) return;
    filled.current = begin ?? '';
    if (filled.current !== value) onChange(filled.current);
  }, [begin]);
}

function written(text: string): string {
  const input = readInput(text);
  return input.ok ? write(input.value) : '';
}

function Problems({ list }: { list: readonly InputProblem[] }) {
  return (
    <ul className={css.problems} role="alert">
      {list.map(({ pointer, message }) => (
        <li key={pointer + message}>
          {pointer && <code>{pointer}</code>} {message}
        </li>
      ))}
    </ul>
  );
}

function JsonText({
  value,
  onChange,
  problems,
  hint,
}: {
  value: string;
  onChange: (text: string) => void;
  problems: readonly InputProblem[];
  hint: ReactNode;
}) {
  const t = useT();
  const input = readInput(value);
  const said = problems.map(({ pointer, message }) => (pointer ? `${pointer}: ${message}` : message)).join('; ');
  return (
    <Field label={<span className="sr">{t('input.title')}</span>} error={input.ok ? said || undefined : input.message} hint={hint}>
      {(ids) => <TextArea {...ids} mono rows={7} placeholder="{ }" value={value} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  );
}

function Fields({
  fields,
  problems,
  onField,
}: {
  fields: readonly FormField[];
  problems: ReadonlyMap<string, string>;
  onField: (name: string, value: Json | undefined) => void;
}) {
  const t = useT();
  return (
    <div className={css.fields}>
      {fields.map((field) => (
        <OneField key={field.name} field={field} problem={problems.get(field.name)} onValue={(value) => onField(field.name, value)} />
      ))}
      <p className={css.note}>{t(fields.some((field) => field.kind === 'json') ? 'input.form_hint' : 'input.form_left_out')}</p>
    </div>
  );
}

interface OneProps {
  field: FormField;
  problem: string | undefined;
  onValue: (value: Json | undefined) => void;
}

function OneField({ field, problem, onValue }: OneProps) {
  const t = useT();
  const unfit = misfit(field);
  const label = (
    <>
      {field.title === undefined ? <code>{field.name}</code> : field.title}
      {field.required && <span className={css.required}> · {t('input.required')}</span>}
    </>
  );
  return (
    <Field
      className={css.field}
      label={label}
      error={problem ?? (unfit ? t(`input.not_${unfit}`) : undefined)}
      hint={field.title !== undefined && field.hint === undefined ? <code>{field.name}</code> : field.hint}
    >
      {(ids) => {
        const all = { ...ids, 'aria-required': field.required || undefined };
        return field.kind === 'choice' ? (
          <Choices ids={all} field={field} onValue={onValue} />
        ) : (
          <Typed ids={all} field={field} onValue={onValue} />
        );
      }}
    </Field>
  );
}

type Ids = { id: string };

function Choices({ ids, field, onValue }: { ids: Ids; field: FormField; onValue: OneProps['onValue'] }) {
  const t = useT();
  const choices = field.choices ?? [];
  const at = choices.findIndex((one) => field.value !== undefined && write(one) === write(field.value));
  const other = field.value !== undefined && at < 0;
  return (
    <Select
      {...ids}
      value={field.value === undefined ? '' : String(at)}
      onValue={(value) => value !== '-1' && onValue(value === '' ? undefined : choices[Number(value)])}
      choices={[
        { value: '', name: t('input.not_set') },
        ...choices.map((one, index) => ({ value: String(index), name: typeof one === 'string' ? one : write(one) })),
        ...(other ? [{ value: '-1', name: field.text }] : []),
      ]}
    />
  );
}

/** Keeps what is typed: `1.` on the way to `1.5` must not jump. */
function Typed({ ids, field, onValue }: { ids: Ids; field: FormField; onValue: OneProps['onValue'] }) {
  const t = useT();
  const [typed, setTyped] = useState<string | null>(null);
  const { kind, standard } = field;
  return (
    <Input
      {...ids}
      mono={kind !== 'text'}
      inputMode={kind === 'integer' ? 'numeric' : kind === 'number' ? 'decimal' : undefined}
      placeholder={standard ? t('input.standard', { value: standard }) : undefined}
      value={typed ?? field.text}
      onChange={(event) => {
        setTyped(event.target.value);
        onValue(event.target.value.trim() === '' ? undefined : meant(kind, event.target.value));
      }}
      onBlur={() => setTyped(null)}
    />
  );
}
