import { type ReactNode, useCallback, useMemo, useState } from 'react';
import type { Execution, Step } from '../../../api/model';
import type { Looks } from '../../../canvas/looks';
import { useRole } from '../../../frame/session';
import type { Graph } from '../../../graph/model';
import { useT } from '../../../messages';
import { useEditor, useTools } from '../model/context';
import { errorsOf } from '../model/problems';
import { showRun } from './showRun';
import { TestDialog, type TrialResult, useTestRun } from './TestRun';

export interface Testing {
  run: Execution | null;
  steps: Step[];
  result: TrialResult | null;
  shown: boolean;
  /** Draws the run; absent while nothing is tested. */
  paint: ((graph: Graph, looks: Looks) => void) | undefined;
  ask: () => void;
  close: () => void;
  reason: string | undefined;
  dialog: ReactNode;
}

/** A test run or a tried node, from the question to the way back. */
export function useTesting(node: string | null, onSaved: (version: number) => void): Testing {
  const t = useT();
  const { stored } = useTools();
  const { reason } = useRole();
  const errors = useEditor((state) => errorsOf(state.diagnostics).length + (state.problem === null ? 0 : 1));
  const [asking, setAsking] = useState(false);
  const [started, setStarted] = useState<Execution | null>(null);
  const [result, setResult] = useState<TrialResult | null>(null);
  const { run: live, steps } = useTestRun(started?.id ?? null);
  const run = started === null ? null : (live ?? started);
  const paint = useMemo(() => (run === null ? undefined : (graph: Graph, looks: Looks) => showRun(graph, looks, run, steps)), [run, steps]);
  const why =
    stored === null ? t('editor.save_first') : (reason('editor') ?? (errors > 0 ? t('editor.has_errors', { n: errors }) : undefined));
  const close = useCallback(() => {
    setStarted(null);
    setResult(null);
  }, []);
  const show = (next: Execution | null, tried: TrialResult | null) => {
    setStarted(next);
    setResult(tried);
  };
  const dialog = asking && (
    <TestDialog
      node={node}
      onStarted={(next) => show(next, null)}
      onResult={(tried) => show(null, tried)}
      onSaved={onSaved}
      onClose={() => setAsking(false)}
    />
  );
  const ask = useCallback(() => {
    if (why === undefined) setAsking(true);
  }, [why]);
  return { run, steps, result, shown: run !== null || result !== null, paint, ask, close, reason: why, dialog };
}
