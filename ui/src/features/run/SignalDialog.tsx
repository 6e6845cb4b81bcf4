import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { asApiError } from '../../api/error';
import type { Execution } from '../../api/model';
import { CopyAs } from '../../frame/CopyAs';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field, Input } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { toast } from '../../ui/toasts';
import { runQueries, sendSignal } from './api';
import css from './Dialogs.module.css';
import { JsonField, useJsonText } from './JsonField';
import { signalLines } from './lines';

/** An event from outside, for a wait now or later. One key per dialog: pressing twice sends one event. */
export function SignalDialog({ run, onClose }: { run: Execution; onClose: () => void }) {
  const t = useT();
  const client = useQueryClient();
  const definition = useQuery(runQueries.definition(run.id));
  const known = (definition.data?.definition.nodes ?? [])
    .filter((node) => node.type === 'wait_event')
    .map((node) => String(node.config?.name ?? ''));
  const [name, setName] = useState(run.wait?.name ?? known.find((one) => one !== '' && !one.includes('{{')) ?? '');
  const [payload, setPayload] = useJsonText({});
  const [key] = useState(() => `ui-${crypto.getRandomValues(new Uint32Array(4)).join('-')}`);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    try {
      await sendSignal(run.id, name, payload.value ?? null, key);
      toast({ text: t('run.event_sent', { name }), tone: 'good' });
      void client.invalidateQueries({ queryKey: ['run', run.id] });
      onClose();
    } catch (thrown) {
      setError(asApiError(thrown));
    } finally {
      setBusy(false);
    }
  };
  const missing = name.trim() === '' ? t('run.event_needs_name') : payload.error;
  return (
    <Dialog
      title={t('run.send_event')}
      onClose={onClose}
      actions={
        <>
          <CopyAs of={signalLines(run.id, name, payload.value ?? null, key, missing)} />
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" disabledReason={missing} busy={busy} onClick={() => void send()}>
            {t('run.send')}
          </Button>
        </>
      }
    >
      <div className={css.form}>
        <Field label={t('run.event_name')} hint={run.wait?.name ? t('run.waits_for', { name: run.wait.name }) : t('run.event_kept')}>
          {(ids) => <Input {...ids} mono value={name} onChange={(event) => setName(event.target.value)} />}
        </Field>
        <JsonField label={t('run.payload')} state={payload} onText={setPayload} />
        {error !== null && <Problem error={error} compact />}
      </div>
    </Dialog>
  );
}
