import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useId } from 'react';
import { queries } from '../../api/queries';
import { useT } from '../../messages';
import { Field, Input, Select, TextArea } from '../../ui/Field';
import type { Draft, DraftField } from './draft';
import { CATCH_UPS, OVERLAPS } from './model';
import css from './Schedules.module.css';
import { LOCAL_ZONE, zones } from './zone';

export interface Form {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  /** What is wrong with a field, in words. */
  errors: { [F in DraftField]?: string };
}

export const FormContext = createContext<Form | null>(null);

function useForm(): Form {
  const form = useContext(FormContext);
  if (!form) throw new Error('a field of the schedule form stands outside of it');
  return form;
}

function Text({
  field,
  label,
  hint,
  list,
  mono,
  type,
}: {
  field: DraftField;
  label: string;
  hint?: ReactNode;
  list?: string;
  mono?: boolean;
  type?: string;
}) {
  const { draft, set, errors } = useForm();
  return (
    <Field label={label} hint={hint} error={errors[field]}>
      {(ids) => (
        <Input
          {...ids}
          list={list}
          mono={mono}
          type={type}
          step={type === 'datetime-local' ? 1 : undefined}
          value={draft[field]}
          onChange={(event) => set({ [field]: event.target.value })}
        />
      )}
    </Field>
  );
}

function Area({ field, label, hint }: { field: DraftField; label: string; hint?: ReactNode }) {
  const { draft, set, errors } = useForm();
  return (
    <Field label={label} hint={hint} error={errors[field]}>
      {(ids) => <TextArea {...ids} mono rows={3} value={draft[field]} onChange={(event) => set({ [field]: event.target.value })} />}
    </Field>
  );
}

function Choice({ field, label, hint, choices }: { field: DraftField; label: string; hint?: string; choices: [string, string][] }) {
  const { draft, set, errors } = useForm();
  return (
    <Field label={label} hint={hint} error={errors[field]}>
      {(ids) => (
        <Select
          {...ids}
          choices={choices.map(([value, name]) => ({ value, name }))}
          value={draft[field]}
          onValue={(value) => set({ [field]: value } as Partial<Draft>)}
        />
      )}
    </Field>
  );
}

export function WhenFields() {
  const t = useT();
  const { draft } = useForm();
  const list = useId();
  return (
    <>
      <Choice
        field="when"
        label={t('schedules.form_when')}
        choices={[
          ['once', t('schedules.form_once')],
          ['periodic', t('schedules.form_periodic')],
          ['cron', t('schedules.form_cron')],
        ]}
      />
      {draft.when === 'periodic' && <Text field="period" mono label={t('schedules.form_period')} hint={t('schedules.form_period_hint')} />}
      {draft.when === 'cron' && (
        <>
          <Text field="expr" mono label={t('schedules.form_expr')} hint={t('schedules.form_expr_hint')} />
          <Text field="zone" list={list} label={t('schedules.form_zone')} hint={t('schedules.form_zone_hint')} />
          <datalist id={list}>
            {zones().map((zone) => (
              <option key={zone} value={zone} />
            ))}
          </datalist>
        </>
      )}
      <div className={css.two}>
        <Text
          field="start"
          type="datetime-local"
          label={t('schedules.form_start')}
          hint={t('schedules.form_start_hint', { zone: LOCAL_ZONE })}
        />
        <Text field="deadline" type="datetime-local" label={t('schedules.form_deadline')} hint={t('schedules.form_deadline_hint')} />
      </div>
      {draft.when !== 'once' && <RepeatFields />}
    </>
  );
}

function RepeatFields() {
  const t = useT();
  const { draft } = useForm();
  return (
    <div className={css.two}>
      <Choice
        field="overlap"
        label={t('schedules.form_overlap')}
        hint={t(`schedules.overlap_${draft.overlap}_text`)}
        choices={OVERLAPS.map((value) => [value, t(`schedules.overlap_${value}`)])}
      />
      <Choice
        field="catchUp"
        label={t('schedules.form_catch_up')}
        hint={t(`schedules.catch_up_${draft.catchUp}_text`)}
        choices={CATCH_UPS.map((value) => [value, t(`schedules.catch_up_${value}`)])}
      />
    </div>
  );
}

export function WhatFields() {
  const t = useT();
  const { draft } = useForm();
  return (
    <>
      <Choice
        field="what"
        label={t('schedules.form_what')}
        choices={(['start_execution', 'http_callback', 'rabbitmq_publish'] as const).map((value) => [value, t(`schedules.kind_${value}`)])}
      />
      {draft.what === 'start_execution' && <StartFields />}
      {draft.what === 'http_callback' && <CallFields />}
      {draft.what === 'rabbitmq_publish' && <PublishFields />}
    </>
  );
}

function StartFields() {
  const t = useT();
  const list = useId();
  const schemas = useQuery({ ...queries.schemas({ limit: 500 }), staleTime: 30_000 });
  return (
    <>
      <Text field="schema" list={list} label={t('schedules.form_schema')} hint={t('schedules.form_schema_hint')} />
      <datalist id={list}>
        {schemas.data?.items.map((schema) => (
          <option key={schema.id} value={schema.name}>
            {schema.description}
          </option>
        ))}
      </datalist>
      <Area field="input" label={t('schedules.form_input')} />
    </>
  );
}

function CallFields() {
  const t = useT();
  return (
    <>
      <div className={css.callLine}>
        <Choice
          field="method"
          label={t('schedules.form_method')}
          choices={['POST', 'GET', 'PUT', 'PATCH', 'DELETE', 'HEAD'].map((method) => [method, method])}
        />
        <Text field="url" mono label={t('schedules.form_url')} />
      </div>
      <Area
        field="headers"
        label={t('schedules.form_headers')}
        hint={t.rich('schedules.form_headers_hint', { braces: <code>{'{{secrets.token}}'}</code> })}
      />
      <Area field="body" label={t('schedules.form_body')} />
      <Text field="timeout" label={t('schedules.form_timeout')} hint={t('schedules.form_timeout_hint')} />
    </>
  );
}

function PublishFields() {
  const t = useT();
  return (
    <>
      <Text field="connection" label={t('schedules.form_connection')} hint={t('schedules.form_connection_hint')} />
      <div className={css.two}>
        <Text field="exchange" label={t('schedules.form_exchange')} />
        <Text field="routingKey" label={t('schedules.form_routing_key')} hint={t('schedules.form_routing_key_hint')} />
      </div>
      <Area field="message" label={t('schedules.form_message')} />
    </>
  );
}

export function RetryFields() {
  const t = useT();
  return (
    <div className={css.five}>
      <Text field="retries" label={t('schedules.form_max_retries')} />
      <Text field="min" mono label={t('schedules.form_min')} />
      <Text field="scale" mono label={t('schedules.form_scale')} />
      <Text field="backoff" label={t('schedules.form_backoff')} />
      <Text field="max" mono label={t('schedules.form_max')} />
    </div>
  );
}
