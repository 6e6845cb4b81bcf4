import { useState } from 'react';
import { asApiError } from '../../api/error';
import type { Json } from '../../api/json';
import { CopyAs } from '../../frame/CopyAs';
import { go } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Checkbox, Field, Input, Select } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { retry } from './api';
import { useRun } from './context';
import css from './Dialogs.module.css';
import { JsonField, useJsonText } from './JsonField';
import { retryLines } from './lines';

/** A new run that begins with the failed step. */
export function RetryDialog({ onClose }: { onClose: () => void }) {
  const t = useT();
  const { run } = useRun();
  const { reason } = useRole();
  const [variables, setVariables] = useJsonText({});
  const [steps, setSteps] = useState('');
  const [newKey, setNewKey] = useState(false);
  const [debug, setDebug] = useState(false);
  const [again, setAgain] = useState(run.retried_as !== null);
  const [version, setVersion] = useState('same');
  const [key] = useState(() => `ui-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const body: { [field: string]: Json } = { debug_mode: debug, new_effect_key: newKey, again, idempotency_key: key };
  if (variables.value !== undefined && Object.keys(variables.value ?? {}).length > 0) body.variables = variables.value;
  if (steps !== '') body.max_steps = Number(steps);
  if (version === 'latest') body.version = 'latest';
  const make = async () => {
    setBusy(true);
    try {
      go(`/runs/${(await retry(run.id, body)).id}`, { replace: true });
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  const wrong = variables.error ?? (steps !== '' && !/^[1-9]\d{0,8}$/.test(steps) ? t('run.whole_number') : null);
  return (
    <Dialog
      title={t('run.retry_title', { node: run.current_node_id })}
      onClose={onClose}
      actions={
        <>
          <CopyAs of={retryLines(run.id, body, wrong)} />
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" disabledReason={reason('operator') ?? wrong} busy={busy} onClick={() => void make()}>
            {t('run.retry')}
          </Button>
        </>
      }
    >
      <div className={css.form}>
        <p className={css.lead}>{t('run.retry_text', { n: Math.max(0, run.seq - 1) })}</p>
        <JsonField label={t('run.set_variables')} hint={t('run.set_variables_hint')} state={variables} onText={setVariables} rows={4} />
        <div className={css.two}>
          <Field label={t('run.max_steps')} hint={t('run.unchanged_if_empty')}>
            {(ids) => <Input {...ids} inputMode="numeric" value={steps} onChange={(event) => setSteps(event.target.value.trim())} />}
          </Field>
          <Field label={t('run.version')}>
            {(ids) => (
              <Select
                {...ids}
                value={version}
                onValue={setVersion}
                choices={[
                  { value: 'same', name: t('run.same_version', { n: run.version }) },
                  { value: 'latest', name: t('run.latest_version') },
                ]}
              />
            )}
          </Field>
        </div>
        <Checkbox label={t('run.new_effect_key')} checked={newKey} onChange={(event) => setNewKey(event.target.checked)} />
        <Checkbox label={t('run.in_debugger')} checked={debug} onChange={(event) => setDebug(event.target.checked)} />
        {run.retried_as !== null && (
          <Checkbox label={t('run.retry_again')} checked={again} onChange={(event) => setAgain(event.target.checked)} />
        )}
        {error !== null && <Problem error={error} compact />}
      </div>
    </Dialog>
  );
}
