import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo, useState } from 'react';
import type { Execution } from '../../../api/model';
import { queries } from '../../../api/queries';
import { useHistory } from '../../../api/useHistory';
import type { Looks } from '../../../canvas/looks';
import { useRole } from '../../../frame/session';
import { buildGraph, type Graph } from '../../../graph/model';
import { useT } from '../../../messages';
import { readDataAgain } from '../code/data';
import { useEditor, useTools } from '../model/context';
import { errorsOf } from '../model/problems';
import type { BadgeOf } from './EditCanvas';
import { showRun } from './showRun';
import type { TestRunState } from './TestPanel';
import { TestDialog, type TrialResult } from './TestRun';

export interface Testing {
  test: TestRunState | null;
  result: TrialResult | null;
  shown: boolean;
  /** Draws the run; absent while nothing is tested. */
  paint: ((graph: Graph, looks: Looks, badge: BadgeOf) => void) | undefined;
  ask: () => void;
  close: () => void;
  reason: string | undefined;
  dialog: ReactNode;
}

/** A test run or a tried node, from the question to the way back. */
export function useTesting(node: string | null, onSaved: (version: number) => void): Testing {
  const t = useT();
  const { store, stored } = useTools();
  const { reason } = useRole();
  const errors = useEditor((state) => errorsOf(state.diagnostics).length + (state.problem === null ? 0 : 1));
  const [asking, setAsking] = useState(false);
  const [started, setStarted] = useState<Started | null>(null);
  const [result, setResult] = useState<TrialResult | null>(null);
  const [test, paint] = useTestRun(started);
  const why =
    stored === null ? t('editor.save_first') : (reason('editor') ?? (errors > 0 ? t('editor.has_errors', { n: errors }) : undefined));
  const close = useCallback(() => {
    setStarted(null);
    setResult(null);
  }, []);
  const show = (next: Execution | null, tried: TrialResult | null) => {
    setStarted(next && { run: next, graph: buildGraph(store.getState().document.definition) });
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
  return { test, result, shown: test !== null || result !== null, paint, ask, close, reason: why, dialog };
}

interface Started {
  run: Execution;
  /** Of the version that runs. */
  graph: Graph;
}

/** The run as it goes on, by the live stream; what it leaves behind is data for the forms. */
function useTestRun(started: Started | null): [TestRunState | null, Testing['paint']] {
  const client = useQueryClient();
  const id = started?.run.id;
  const { data } = useQuery({ ...queries.run(id ?? ''), enabled: id !== undefined });
  const run = started === null ? null : (data ?? started.run);
  const { scrub, version, ready, error } = useHistory(run ?? undefined, started?.graph ?? null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `version` says when the steps are others
  const paint = useMemo(
    () => (run === null || scrub === null ? undefined : (...drawn: [Graph, Looks, BadgeOf]) => showRun(drawn, run, scrub)),
    [run, scrub, version],
  );
  const status = run?.status;
  useEffect(() => {
    if (status !== undefined) readDataAgain(client);
  }, [client, status]);
  const test = run === null ? null : { run, scrub: ready ? scrub : null, error };
  return [test, paint];
}
