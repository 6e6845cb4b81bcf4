import { useState } from 'react';
import { path } from '../../api/client';
import { write } from '../../api/json';
import { CopyAs } from '../../frame/CopyAs';
import { curl, pawl, quoted } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Field, Input, Select, TextArea } from '../../ui/Field';
import { formatDuration } from '../../ui/format';
import { Panel } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Tabs } from '../../ui/Tabs';
import { delays } from './delays';
import { Firings } from './Firings';
import { FormContext, RetryFields, WhatFields, WhenFields } from './FormFields';
import type { Schedule } from './model';
import { zoneOf } from './model';
import css from './Schedules.module.css';
import { SAVE_MODES, type SaveMode, useScheduleForm } from './useScheduleForm';

/** New, or another specification for one that is there. The engine says when it fires, while it is typed. */
export function ScheduleForm({ schedule, onDone }: { schedule?: Schedule; onDone: (id: string | null) => void }) {
  const t = useT();
  const form = useScheduleForm(schedule, onDone);
  return (
    <div className={css.formPage}>
      <form
        className={css.column}
        onSubmit={(event) => {
          event.preventDefault();
          if (!form.why) void form.save();
        }}
      >
        {!schedule && (
          <Field label={t('schedules.form_id')} hint={t('schedules.form_id_hint')} error={form.idWrong && t('schedules.form_id_wrong')}>
            {(ids) => <Input {...ids} mono value={form.id} onChange={(event) => form.setId(event.target.value)} />}
          </Field>
        )}
        <Tabs
          label={t('schedules.spec')}
          tabs={[
            { id: 'form', name: t('schedules.mode_form') },
            { id: 'text', name: t('schedules.mode_text') },
          ]}
          value={form.mode}
          onChange={(mode) => void form.setMode(mode)}
        >
          {form.mode === 'form' ? <Fields form={form} /> : <SpecText form={form} />}
        </Tabs>
        {schedule && <KeepChoice value={form.keep} onValue={form.setKeep} />}
        {form.saveError !== null && (
          <Problem compact error={form.saveError} title={form.exists ? t('schedules.exists') : undefined}>
            {form.exists && <KeepChoice value={form.keep} onValue={form.setKeep} />}
          </Problem>
        )}
        <div className={css.buttons}>
          <CopyAs
            of={{
              command: () => `printf %s ${quoted(write(form.body))} | ${pawl('schedule put', [form.id, '-'])}`,
              curl: () => curl('PUT', path('/api/scheduled-actions', form.id), { body: form.body }),
              disabledReason: form.why,
            }}
          />
          <Button onClick={() => onDone(schedule?.id ?? null)}>{t('common.cancel')}</Button>
          <Button type="submit" kind="primary" busy={form.busy} disabledReason={form.why}>
            {t('common.save')}
          </Button>
        </div>
      </form>
      <PreviewPanel form={form} />
    </div>
  );
}

type FormState = ReturnType<typeof useScheduleForm>;

function Fields({ form }: { form: FormState }) {
  const t = useT();
  const [retries, setRetries] = useState(form.draft.retries !== '0');
  const found = delays(form.draft);
  return (
    <FormContext.Provider value={form}>
      <div className={css.column}>
        <fieldset className={css.group}>
          <legend>{t('schedules.when')}</legend>
          <WhenFields />
        </fieldset>
        <fieldset className={css.group}>
          <legend>{t('schedules.what')}</legend>
          <WhatFields />
        </fieldset>
        <details className={css.group} open={retries} onToggle={(event) => setRetries(event.currentTarget.open)}>
          <summary>{t('schedules.form_retry')}</summary>
          <RetryFields />
          <p className={css.faint}>
            {found && found.length > 0
              ? t('schedules.retry_preview', { delays: found.map(formatDuration).join(', ') })
              : t('schedules.retry_none')}
          </p>
        </details>
      </div>
    </FormContext.Provider>
  );
}

function SpecText({ form }: { form: FormState }) {
  const t = useT();
  const error = form.textError === null ? undefined : t('schedules.bad_text', { message: form.textError });
  return (
    <Field label={t('schedules.as_text')} error={error}>
      {(ids) => <TextArea {...ids} mono rows={22} value={form.text} onChange={(event) => form.setText(event.target.value)} />}
    </Field>
  );
}

function KeepChoice({ value, onValue }: { value: SaveMode; onValue: (value: SaveMode) => void }) {
  const t = useT();
  return (
    <Field label={t('schedules.save_mode')}>
      {(ids) => (
        <Select
          {...ids}
          choices={SAVE_MODES.map((mode) => ({ value: mode, name: t(`schedules.mode_${mode}`) }))}
          value={value}
          onValue={(mode) => onValue(mode as SaveMode)}
        />
      )}
    </Field>
  );
}

function PreviewPanel({ form }: { form: FormState }) {
  const t = useT();
  const { preview, spec, general } = form;
  return (
    <Panel className={css.preview} title={t('schedules.preview')}>
      <div data-old={preview.old ? '' : undefined} className={css.previewBody} aria-live="polite">
        {preview.error !== null && <Problem compact error={preview.error} />}
        {preview.findings.length > 0 && (
          <div className={css.findings}>
            <h3>{t('schedules.problems', { n: preview.findings.length })}</h3>
            <ul>
              {general.map((finding) => (
                <li key={finding.pointer + finding.message}>
                  <code>{finding.pointer}</code> {finding.message}
                  {finding.hint && <span className={css.faint}> {finding.hint}</span>}
                </li>
              ))}
            </ul>
          </div>
        )}
        {preview.times && spec && preview.times.length > 0 && <Firings times={preview.times} zone={zoneOf(spec.policy)} />}
        {preview.times?.length === 0 && <p>{t('schedules.preview_none')}</p>}
        {!preview.times && preview.findings.length === 0 && preview.error === null && (
          <p className={css.faint}>{t('schedules.preview_wait')}</p>
        )}
      </div>
    </Panel>
  );
}
