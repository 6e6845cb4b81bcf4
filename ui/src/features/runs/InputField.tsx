import { History } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Definition } from '../../api/model';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { Field, Input, TextArea } from '../../ui/Field';
import css from './StartDialog.module.css';
import { fieldsOf, formOf, readInput, withField } from './start-form';

/** `input` of a start: fields that the schema's expressions read, or the JSON itself. */
export function InputField({
  value,
  onChange,
  definition,
  last,
}: {
  value: string;
  onChange: (text: string) => void;
  definition: Definition | undefined;
  last: string | undefined;
}) {
  const t = useT();
  const suggested = useMemo(() => fieldsOf(definition), [definition]);
  const [asJson, setAsJson] = useState(false);
  const fields = formOf(value, suggested);
  const input = readInput(value);
  const form = !asJson && fields !== null && fields.length > 0;
  return (
    <section className={css.input}>
      <header className={css.inputHead}>
        <h3>{t('runs.input')}</h3>
        <Chip on={form} onToggle={() => setAsJson(false)}>
          {t('runs.input_form')}
        </Chip>
        <Chip on={!form} onToggle={() => setAsJson(true)}>
          JSON
        </Chip>
        {last !== undefined && last !== value && (
          <Button size="small" kind="quiet" icon={<History />} onClick={() => onChange(last)}>
            {t('runs.input_last')}
          </Button>
        )}
      </header>
      {form ? (
        <div className={css.fields}>
          {fields.map((field) => (
            <FormInput
              key={field.name}
              name={field.name}
              text={field.text}
              standard={field.standard}
              onChange={(text) => onChange(withField(value, field.name, text))}
            />
          ))}
          <p className={css.note}>{t('runs.input_form_hint')}</p>
        </div>
      ) : (
        <Field
          label={<span className="sr">{t('runs.input')}</span>}
          error={input.ok ? undefined : input.message}
          hint={!asJson && fields?.length === 0 ? t('runs.input_none') : undefined}
        >
          {(ids) => <TextArea {...ids} mono rows={7} placeholder="{ }" value={value} onChange={(event) => onChange(event.target.value)} />}
        </Field>
      )}
    </section>
  );
}

/** Keeps what is typed: `1.` on the way to `1.5` must not jump. */
function FormInput({ name, text, standard, onChange }: { name: string; text: string; standard: string; onChange: (text: string) => void }) {
  const t = useT();
  const [typed, setTyped] = useState<string | null>(null);
  return (
    <Field label={<code>{name}</code>} className={css.formInput}>
      {(ids) => (
        <Input
          {...ids}
          mono
          placeholder={standard === '' ? undefined : t('runs.input_standard', { value: standard })}
          value={typed ?? text}
          onChange={(event) => {
            setTyped(event.target.value);
            onChange(event.target.value);
          }}
          onBlur={() => setTyped(null)}
        />
      )}
    </Field>
  );
}
