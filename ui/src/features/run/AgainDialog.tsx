import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { asApiError } from '../../api/error';
import { isObject, type Json } from '../../api/json';
import type { Execution } from '../../api/model';
import { go } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Checkbox, Select } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { runQueries, startRun } from './api';
import { useRun } from './context';
import css from './Dialogs.module.css';
import { JsonField, useJsonText } from './JsonField';

/** The same start once more, with this run's input. */
export function AgainDialog({ onClose }: { onClose: () => void }) {
  const t = useT();
  const { run } = useRun();
  const initial = useQuery(runQueries.initial(run.id));
  return (
    <Dialog title={t('run.again_title', { schema: run.schema })} onClose={onClose}>
      {initial.error ? (
        <Problem error={initial.error} onRetry={() => void initial.refetch()} />
      ) : initial.data === undefined ? (
        <Skeleton rows={4} />
      ) : (
        <Form first={initial.data.initial} run={run} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Form({ first, run, onClose }: { first: Execution['initial']; run: Execution; onClose: () => void }) {
  const t = useT();
  const { reason } = useRole();
  const [input, setInput] = useJsonText(first?.input ?? null);
  const [variables, setVariables] = useJsonText(first?.variables ?? {});
  const [debug, setDebug] = useState(false);
  const [version, setVersion] = useState('latest');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const start = async () => {
    setBusy(true);
    const body: { [field: string]: Json } = { schema: run.schema, debug_mode: debug };
    if (input.value !== undefined && input.value !== null) body.input = input.value;
    if (isObject(variables.value) && Object.keys(variables.value).length > 0) body.variables = variables.value;
    if (version === 'same') body.version = run.version;
    if (run.tenant !== null) body.tenant = run.tenant;
    if (Object.keys(run.labels).length > 0) body.labels = run.labels;
    try {
      go(`/runs/${(await startRun(body)).id}`, { replace: true });
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  return (
    <div className={css.form}>
      <JsonField label={t('run.input')} state={input} onText={setInput} rows={8} />
      <JsonField label={t('run.variables')} state={variables} onText={setVariables} rows={4} />
      <div className={css.options}>
        <Checkbox label={t('run.in_debugger')} checked={debug} onChange={(event) => setDebug(event.target.checked)} />
        <Select
          aria-label={t('run.version')}
          value={version}
          onValue={setVersion}
          choices={[
            { value: 'latest', name: t('run.latest_version') },
            { value: 'same', name: t('run.same_version', { n: run.version }) },
          ]}
        />
      </div>
      {error !== null && <Problem error={error} compact />}
      <div className={css.foot}>
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button
          kind="primary"
          disabledReason={reason('operator') ?? input.error ?? variables.error}
          busy={busy}
          onClick={() => void start()}
        >
          {t('run.start')}
        </Button>
      </div>
    </div>
  );
}
