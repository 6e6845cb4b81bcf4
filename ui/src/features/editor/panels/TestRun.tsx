/** The question before a test run: what is run, with which input. */
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { api, path } from '../../../api/client';
import type { Json } from '../../../api/json';
import { read } from '../../../api/json';
import type { Execution } from '../../../api/model';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { Dialog } from '../../../ui/Dialog';
import { Checkbox, Field, Select } from '../../../ui/Field';
import { Problem } from '../../../ui/Problem';
import { CodeField } from '../code/CodeField';
import { useContextAt } from '../code/data';
import { jsonLanguage } from '../code/languages';
import { useEditor, useTools } from '../model/context';
import { isDirty } from '../model/store';
import { startTest, useTrials } from '../model/trials';
import { saveText, settle } from '../save/save';
import css from './TestRun.module.css';

export type TestMode = 'run' | 'step' | 'until' | 'node';

export interface TestDialogProps {
  node: string | null;
  onStarted: (run: Execution) => void;
  onResult: (result: TrialResult) => void;
  onSaved: (version: number) => void;
  onClose: () => void;
}

export interface TrialResult {
  node: string;
  status: 'success' | 'failed';
  output: Json;
  handle: string | null;
  error: { code: string; message: string } | null;
  logs: string[];
  duration_ms: number;
}

/** Trying one node alone needs trial runs. */
const modesOf = (hasNode: boolean, trials: boolean): TestMode[] =>
  hasNode ? (trials ? ['run', 'step', 'until', 'node'] : ['run', 'step', 'until']) : ['run', 'step'];

const inputKey = (schema: string) => `pawl.input.${schema}`;

export function TestDialog({ node, onStarted, onResult, onSaved, onClose }: TestDialogProps) {
  const t = useT();
  const { store, stored } = useTools();
  const dirty = useEditor(isDirty);
  const version = useEditor((state) => state.saved.version);
  const data = useEditor((state) => state.data);
  const context = useContextAt(data);
  const [mode, setMode] = useState<TestMode>('run');
  const [input, setInput] = useState(() => localStorage.getItem(inputKey(stored ?? '')) ?? '{}');
  const [pins, setPins] = useState(true);
  const trials = useTrials();
  const modes = modesOf(node !== null, trials);
  const start = useMutation({
    mutationFn: async () => {
      const given = read(input.trim() === '' ? '{}' : input);
      localStorage.setItem(inputKey(stored ?? ''), input);
      if (mode === 'node' && node !== null) return void onResult(await trialNode(store, stored ?? '', node, given, context));
      const runs = await keptVersion(store, stored ?? '', onSaved);
      onStarted(
        await startTest(trials, { schema: stored ?? '', version: runs, input: given, mode: mode === 'node' ? 'run' : mode, node, pins }),
      );
    },
    onSuccess: onClose,
  });
  return (
    <Dialog
      title={t('editor.test_run')}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t('common.cancel')}</Button>
          <Button kind="primary" busy={start.isPending} onClick={() => start.mutate()}>
            {t('editor.start_test')}
          </Button>
        </>
      }
    >
      <div className={css.dialog}>
        <Field label={t('editor.test_what')}>
          {(ids) => (
            <Select
              {...ids}
              value={mode}
              onValue={(value) => setMode(value as TestMode)}
              choices={modes.map((one) => ({
                value: one,
                name: t.name('editor', 'mode', one) + (one === 'until' || one === 'node' ? ` ${node}` : ''),
              }))}
            />
          )}
        </Field>
        <Field label={t('editor.input')}>
          {() => <CodeField value={input} onChange={setInput} extensions={jsonLanguage} label={t('editor.input')} multiline />}
        </Field>
        {trials && mode !== 'node' && (
          <Checkbox label={t('editor.use_pins')} checked={pins} onChange={(event) => setPins(event.target.checked)} />
        )}
        <p className={css.about}>
          {mode === 'node'
            ? t('editor.node_about')
            : dirty
              ? t('editor.saves_first', { version: (version ?? 0) + 1 })
              : t('editor.runs_saved', { version: version ?? 0 })}
        </p>
        {!trials && <p className={css.about}>{t('editor.is_real_run')}</p>}
        {start.error && <Problem compact error={start.error} />}
      </div>
    </Dialog>
  );
}

/** What is on the screen, stored as a version that no trigger uses. */
async function keptVersion(
  store: ReturnType<typeof useTools>['store'],
  stored: string,
  onSaved: (version: number) => void,
): Promise<number> {
  const { text, saved } = store.getState();
  if (text === saved.text && saved.version !== null) return saved.version;
  const answer = await saveText({ stored, text, version: saved.version, note: '', publish: false });
  await settle(store, stored, text, answer.latest_version);
  onSaved(answer.latest_version);
  return answer.latest_version;
}

async function trialNode(
  store: ReturnType<typeof useTools>['store'],
  stored: string,
  id: string,
  input: Json,
  context: Json,
): Promise<TrialResult> {
  const node = store.getState().document.definition.nodes.find((one) => one.id === id);
  const known = context !== null && typeof context === 'object' && !Array.isArray(context) ? context : {};
  const body = {
    node,
    context: { input: Object.hasOwn(known, 'input') ? known.input : input, variables: known.variables ?? {}, steps: known.steps ?? {} },
  };
  return { ...(await api.post<TrialResult>(path('/api/schemas', stored, 'trial-node'), body)), node: id };
}
