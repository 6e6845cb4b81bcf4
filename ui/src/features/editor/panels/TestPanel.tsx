/** In place of the form while a test run is on the canvas: how it stands, and what came of the selected node. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { api, path } from '../../../api/client';
import { write } from '../../../api/json';
import type { Execution, Step } from '../../../api/model';
import { hasEnded } from '../../../api/queries';
import { Link } from '../../../frame/navigate';
import type { Scrub } from '../../../graph/scrub';
import { useT } from '../../../messages';
import { Button } from '../../../ui/Button';
import { JsonTree } from '../../../ui/JsonTree';
import { Loaded } from '../../../ui/Loaded';
import { Problem } from '../../../ui/Problem';
import { Status } from '../../../ui/Status';
import type { Pin } from '../model/wire';
import { PinButton } from './PinButton';
import type { TrialResult } from './TestRun';
import css from './TestRun.module.css';

export interface TestRunState {
  run: Execution;
  /** Its steps so far; null while they are read for the first time. */
  scrub: Scrub | null;
  error: unknown;
}

interface Pinning {
  pins: Pin[];
  onPins: () => void;
}

export function TestPanel({ test, node, onClose, ...pinning }: { test: TestRunState; node: string | null; onClose: () => void } & Pinning) {
  const t = useT();
  const client = useQueryClient();
  const { run, scrub, error } = test;
  const control = useMutation({
    mutationFn: (what: 'step' | 'run' | 'stop') =>
      what === 'stop'
        ? api.post<Execution>(path('/api/executions', run.id, 'stop'))
        : api.post<Execution>(path('/api/executions', run.id, 'continue'), { mode: what, expect_seq: run.seq }),
    onSuccess: () => client.invalidateQueries({ queryKey: ['run', run.id], exact: true }),
  });
  const seq = stepShown(scrub, node);
  return (
    <section className={css.panel} aria-label={t('editor.test_run')}>
      <header className={css.head}>
        <Status status={run.status} chip />
        <Link href={`/runs/${run.id}`}>{t('editor.open_run')}</Link>
        <Button size="small" onClick={onClose}>
          {t('editor.back_to_editing')}
        </Button>
      </header>
      <div className={css.bar}>
        {run.status === 'waiting_debug' && (
          <>
            <Button size="small" kind="primary" busy={control.isPending} onClick={() => control.mutate('step')}>
              {t('editor.debug_step')}
            </Button>
            <Button size="small" busy={control.isPending} onClick={() => control.mutate('run')}>
              {t('editor.debug_continue')}
            </Button>
          </>
        )}
        {!hasEnded(run) && (
          <Button size="small" busy={control.isPending} onClick={() => control.mutate('stop')}>
            {t('editor.stop')}
          </Button>
        )}
      </div>
      {control.error && <Problem compact error={control.error} />}
      {error !== null && <Problem compact error={error} />}
      {run.error && <Fault code={run.error.code}>{run.error.message}</Fault>}
      {seq === 0 ? (
        node !== null && scrub !== null && <p className={css.about}>{t('editor.not_reached', { id: node })}</p>
      ) : (
        <StepView run={run.id} seq={seq} {...pinning} />
      )}
    </section>
  );
}

/** The last visit of the selected node; with none selected the last step of all. 0: there is none. */
function stepShown(scrub: Scrub | null, node: string | null): number {
  if (scrub === null) return 0;
  if (node === null) return scrub.steps.length === 0 ? 0 : scrub.last;
  return scrub.nodeAt(scrub.graph.byId.get(node) ?? -1, scrub.last).step;
}

function Fault({ code, children }: { code: string; children: ReactNode }) {
  return (
    <p className={css.error}>
      <code>{code}</code> {children}
    </p>
  );
}

function StepView({ run, seq, pins, onPins }: { run: string; seq: number } & Pinning) {
  const t = useT();
  const step = useQuery({
    queryKey: ['step', run, seq],
    queryFn: ({ signal }) => api.get<Step>(path('/api/executions', run, 'steps', seq), undefined, signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <Loaded query={step}>
      {(found) => (
        <div className={css.step}>
          <h3>
            {found.node_id} · {found.seq}
          </h3>
          {found.error && <Fault code={found.error.code}>{found.error.message}</Fault>}
          <h4>{t('editor.output')}</h4>
          <JsonTree value={found.output} label={t('editor.output')} maxHeight={260} />
          <PinButton
            node={found.node_id}
            output={found.error === null ? found.output : undefined}
            handle={found.handle ?? null}
            pin={pins.find((one) => one.node === found.node_id)}
            onPins={onPins}
          />
          <h4>{t('editor.node_input')}</h4>
          <JsonTree value={found.input} label={t('editor.node_input')} maxHeight={260} />
        </div>
      )}
    </Loaded>
  );
}

/** What came of a node that was run by itself. Nothing of it is stored, but it can be pinned. */
export function ResultPanel({ result, onClose, pins, onPins }: { result: TrialResult; onClose: () => void } & Pinning) {
  const t = useT();
  return (
    <section className={css.panel} aria-label={t('editor.test_run')}>
      <header className={css.head}>
        <b>{result.node}</b>
        <span>{t.name('common', 'step', result.status)}</span>
        <Button size="small" onClick={onClose}>
          {t('editor.back_to_editing')}
        </Button>
      </header>
      {result.error && <Fault code={result.error.code}>{result.error.message}</Fault>}
      <h4>{t('editor.output')}</h4>
      <JsonTree value={result.output} label={t('editor.output')} maxHeight={400} />
      <PinButton
        node={result.node}
        output={result.status === 'success' ? result.output : undefined}
        handle={result.handle}
        pin={pins.find((one) => one.node === result.node)}
        onPins={onPins}
      />
      {result.logs.length > 0 && (
        <pre className={css.logs}>{result.logs.map((line) => (typeof line === 'string' ? line : write(line))).join('\n')}</pre>
      )}
    </section>
  );
}
