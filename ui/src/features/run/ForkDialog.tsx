import { useQuery, useQueryClient } from '@tanstack/react-query';
import { TriangleAlert } from 'lucide-react';
import { useState } from 'react';
import { asApiError } from '../../api/error';
import { isObject, type Json, write } from '../../api/json';
import { CopyAs } from '../../frame/CopyAs';
import { go } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { hasEffects } from '../../nodes';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Checkbox, Select } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { toast } from '../../ui/toasts';
import { fork, runQueries } from './api';
import { useRun } from './context';
import css from './Dialogs.module.css';
import { JsonField, useJsonText } from './JsonField';
import { forkLines } from './lines';

/** A new run from this moment on, with other values if wanted. */
export function ForkDialog({ seq, debug, onClose }: { seq: number; debug: boolean; onClose: () => void }) {
  const t = useT();
  const { run, scrub } = useRun();
  const from = Math.min(seq, scrub.last);
  const context = useQuery(runQueries.context(run.id, from, 'after', '', 1_000_000));
  const value = context.data?.value;
  return (
    <Dialog title={t('run.fork_title', { n: from })} size="wide" onClose={onClose}>
      {context.error ? (
        <Problem error={context.error} onRetry={() => void context.refetch()} />
      ) : value === undefined ? (
        <Skeleton rows={5} />
      ) : (
        <Form from={from} inDebugger={debug} variables={part(value, 'variables')} input={part(value, 'input')} onClose={onClose} />
      )}
    </Dialog>
  );
}

const part = (value: Json, name: string): Json => (isObject(value) ? (value[name] ?? null) : null);

/** Only what differs is sent. */
export function changedVariables(before: Json, after: Json): { [name: string]: Json } {
  if (!isObject(after)) return {};
  const old = isObject(before) ? before : {};
  return Object.fromEntries(Object.entries(after).filter(([name, one]) => !Object.hasOwn(old, name) || write(old[name]) !== write(one)));
}

function Form({
  from,
  inDebugger,
  variables,
  input,
  onClose,
}: {
  from: number;
  inDebugger: boolean;
  variables: Json;
  input: Json;
  onClose: () => void;
}) {
  const t = useT();
  const { run, scrub } = useRun();
  const { reason } = useRole();
  const client = useQueryClient();
  const [edited, setEdited] = useJsonText(variables ?? {});
  const [entered, setEntered] = useJsonText(input);
  const [debug, setDebug] = useState(inDebugger);
  const [version, setVersion] = useState('same');
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const effects = scrub.steps.filter((step) => step.seq > from && hasEffects(step.nodeType)).length;
  const changes = changedVariables(variables, edited.value ?? {});
  const otherInput = entered.value !== undefined && write(entered.value) !== write(input);
  const body: { [field: string]: Json } = { from_seq: from, debug_mode: debug };
  if (Object.keys(changes).length > 0) body.variables = changes;
  if (otherInput && entered.value !== null) body.input = entered.value as Json;
  if (version === 'latest') body.version = 'latest';
  const make = async () => {
    setBusy(true);
    try {
      const made = await fork(run.id, body);
      for (const warning of made.warnings ?? []) toast({ text: warning, tone: 'warn' });
      void client.invalidateQueries({ queryKey: runQueries.forks(run.id).queryKey });
      go(`/runs/${made.id}`, { replace: true });
    } catch (thrown) {
      setError(asApiError(thrown));
      setBusy(false);
    }
  };
  const wrong = edited.error ?? entered.error ?? (isObject(edited.value ?? {}) ? null : t('run.variables_object'));
  return (
    <div className={css.form}>
      <p className={css.lead}>{from === 0 ? t('run.fork_from_start') : t('run.fork_takes', { n: from })}</p>
      {effects > 0 && (
        <p className={css.warning}>
          <TriangleAlert aria-hidden /> {t('run.fork_effects', { n: effects })}
        </p>
      )}
      <div className={css.two}>
        <JsonField
          label={t('run.variables')}
          hint={t('run.only_changes', { n: Object.keys(changes).length })}
          state={edited}
          onText={setEdited}
          rows={10}
        />
        <JsonField label={t('run.input')} hint={t('run.input_hint')} state={entered} onText={setEntered} rows={10} />
      </div>
      <div className={css.options}>
        <Checkbox label={t('run.in_debugger')} checked={debug} onChange={(event) => setDebug(event.target.checked)} />
        <Select
          aria-label={t('run.version')}
          value={version}
          onValue={setVersion}
          choices={[
            { value: 'same', name: t('run.same_version', { n: run.version }) },
            { value: 'latest', name: t('run.latest_version') },
          ]}
        />
      </div>
      {error !== null && <Problem error={error} compact />}
      <div className={css.foot}>
        <CopyAs of={forkLines(run.id, body, wrong)} />
        <Button onClick={onClose}>{t('common.cancel')}</Button>
        <Button kind="primary" disabledReason={reason('operator') ?? wrong} busy={busy} onClick={() => void make()}>
          {t('run.fork')}
        </Button>
      </div>
    </div>
  );
}
