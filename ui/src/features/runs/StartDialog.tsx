import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Play } from 'lucide-react';
import { useEffect, useState } from 'react';
import { asApiError } from '../../api/error';
import { type Json, write } from '../../api/json';
import { queries } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { go, type SetSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { curl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Checkbox, Field, Input, Select } from '../../ui/Field';
import { InputForm, type Refused } from '../../ui/InputForm';
import { readInput } from '../../ui/input-form';
import { inputProblems } from '../../ui/input-schema';
import { Problem } from '../../ui/Problem';
import { inputOf, lastRunOf, type StartRequest, schemaNames, start } from './calls';
import { readLabels } from './labels';
import { startCommand } from './lines';
import css from './StartDialog.module.css';
import type { RunsSearch } from './search';

interface Form {
  schema: string;
  version: string;
  input: string;
  labels: string;
  tenant: string;
  priority: string;
  debug: boolean;
  startAt: string;
  key: string;
}

const FIRST: Form = { schema: '', version: '', input: '', labels: '', tenant: '', priority: 'normal', debug: false, startAt: '', key: '' };
const PRIORITIES = ['high', 'normal', 'low'] as const;

/** Starts a run. `?start=1&schema=NAME&from=RUN` fills it in. */
export function StartDialog({ search, set }: { search: RunsSearch; set: SetSearch<RunsSearch> }) {
  const t = useT();
  const client = useQueryClient();
  const { reason } = useRole();
  const [form, setForm] = useState<Form>({ ...FIRST, schema: search.schema });
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  const change = (part: Partial<Form>) => {
    setForm((before) => ({ ...before, ...part }));
    // What was said of the input for another schema.
    if (part.schema !== undefined || part.version !== undefined) setRefused(null);
  };
  useFrom(search.from, change);
  const close = () => set({ start: false, from: '' }, { replace: true });
  const request = asRequest(form);
  const wrong = !form.schema ? t('runs.start_choose') : request === null ? t('runs.start_mend') : undefined;

  const submit = async () => {
    if (!request) return;
    setBusy(true);
    setError(null);
    setRefused(null);
    try {
      const run = await start(request);
      void client.invalidateQueries({ queryKey: ['runs'] });
      go(`/runs/${run.id}`, { replace: true });
    } catch (thrown) {
      const problems = inputProblems(asApiError(thrown).details);
      if (problems.length > 0) setRefused({ problems, sent: (request.input ?? null) as Json });
      else setError(thrown);
      setBusy(false);
    }
  };

  return (
    <Dialog
      title={t('runs.start')}
      size="wide"
      onClose={close}
      actions={
        <>
          <CopyAs
            of={{
              command: request?.labels ? [t('runs.labels')] : () => (request ? startCommand(request) : ''),
              curl: () => (request ? curl('POST', '/api/executions', { body: request }) : ''),
              disabledReason: wrong,
            }}
          />
          <Button onClick={close}>{t('common.cancel')}</Button>
          <Button kind="primary" icon={<Play />} busy={busy} disabledReason={reason('operator') ?? wrong} onClick={submit}>
            {t('runs.start_go')}
          </Button>
        </>
      }
    >
      <div className={css.form}>
        <What form={form} change={change} />
        <InputPart form={form} change={change} refused={refused} defaults={search.from === ''} />
        <details className={css.details}>
          <summary>{t('runs.start_more')}</summary>
          <More form={form} change={change} />
        </details>
        {refused && (
          <p role="alert" className={css.refused}>
            {t('input.refused')}
          </p>
        )}
        {error !== null && <Problem compact error={error} />}
      </div>
    </Dialog>
  );
}

interface PartProps {
  form: Form;
  change: (part: Partial<Form>) => void;
}

/** "Run again": schema and input of another run. */
function useFrom(id: string, change: (part: Partial<Form>) => void): void {
  const run = useQuery(inputOf(id)).data;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the run has been read
  useEffect(() => {
    if (run) change({ schema: run.schema, input: run.initial?.input == null ? '' : write(run.initial.input, 2), tenant: run.tenant ?? '' });
  }, [run]);
}

function What({ form, change }: PartProps) {
  const t = useT();
  const list = useQuery(schemaNames());
  const schemas = list.data?.items ?? [];
  const chosen = schemas.find((schema) => schema.name === form.schema);
  const active = schemas
    .filter((schema) => schema.active || schema.name === form.schema)
    .map((schema) => ({ value: schema.name, name: schema.name }));
  const published = chosen?.published_version ?? chosen?.latest_version;
  const versions = Array.from({ length: chosen?.latest_version ?? 0 }, (_, at) => (chosen?.latest_version ?? 0) - at);
  return (
    <div className={css.pair}>
      <Field label={t('runs.schema')} hint={chosen?.description} error={chosen && !chosen.active ? t('runs.start_inactive') : undefined}>
        {(ids) => (
          <Select
            {...ids}
            value={form.schema}
            choices={[{ value: '', name: list.isPending ? t('common.loading') : t('runs.start_choose') }, ...active]}
            onValue={(schema) => change({ schema, version: '' })}
          />
        )}
      </Field>
      <Field label={t('runs.version')}>
        {(ids) => (
          <Select
            {...ids}
            value={form.version}
            disabled={!chosen}
            choices={[
              { value: '', name: published ? t('runs.version_published', { version: published }) : t('runs.version_any') },
              ...versions.map((one) => ({ value: String(one), name: `v${one}` })),
            ]}
            onValue={(version) => change({ version })}
          />
        )}
      </Field>
    </div>
  );
}

function InputPart({ form, change, refused, defaults }: PartProps & { refused: Refused | null; defaults: boolean }) {
  const definition = useQuery({
    ...queries.schema(form.schema, form.version ? Number(form.version) : undefined),
    enabled: form.schema !== '',
  }).data?.definition;
  const last = useQuery(lastRunOf(form.schema)).data;
  const lastInput = useQuery(inputOf(last?.id ?? '')).data?.initial?.input;
  return (
    <InputForm
      value={form.input}
      onChange={(input) => change({ input })}
      definition={definition}
      refused={refused}
      defaults={defaults}
      last={lastInput === undefined || lastInput === null ? undefined : write(lastInput, 2)}
    />
  );
}

function More({ form, change }: PartProps) {
  const t = useT();
  return (
    <div className={css.more}>
      <Field
        label={t('runs.labels')}
        hint={t('runs.labels_hint')}
        error={readLabels(form.labels) === null ? t('runs.labels_wrong') : undefined}
      >
        {(ids) => <Input {...ids} value={form.labels} onChange={(event) => change({ labels: event.target.value })} />}
      </Field>
      <Field label={t('runs.more_tenant')}>
        {(ids) => <Input {...ids} value={form.tenant} onChange={(event) => change({ tenant: event.target.value })} />}
      </Field>
      <Field label={t('runs.priority')}>
        {(ids) => (
          <Select
            {...ids}
            value={form.priority}
            choices={PRIORITIES.map((value) => ({ value, name: t(`runs.priority_${value}`) }))}
            onValue={(priority) => change({ priority })}
          />
        )}
      </Field>
      <Field label={t('runs.start_at')} hint={t('runs.start_at_hint')}>
        {(ids) => (
          <Input
            {...ids}
            type="datetime-local"
            step={1}
            value={form.startAt}
            onChange={(event) => change({ startAt: event.target.value })}
          />
        )}
      </Field>
      <Field label={t('runs.key')} hint={t('runs.key_hint')}>
        {(ids) => <Input {...ids} value={form.key} onChange={(event) => change({ key: event.target.value })} />}
      </Field>
      <Checkbox label={t('runs.debug_mode')} checked={form.debug} onChange={(event) => change({ debug: event.target.checked })} />
    </div>
  );
}

/** Null: something in the form is wrong, and says so at its place. */
function asRequest(form: Form): StartRequest | null {
  const input = readInput(form.input);
  const labels = readLabels(form.labels);
  if (!input.ok || labels === null || form.schema === '') return null;
  return {
    schema: form.schema,
    ...(form.version && { version: Number(form.version) }),
    ...(form.input.trim() && { input: input.value }),
    ...(Object.keys(labels).length > 0 && { labels }),
    ...(form.tenant && { tenant: form.tenant }),
    ...(form.priority !== 'normal' && { priority: form.priority }),
    ...(form.debug && { debug_mode: true }),
    ...(form.startAt && { start_at: new Date(form.startAt).toISOString() }),
    ...(form.key && { idempotency_key: form.key }),
  };
}
