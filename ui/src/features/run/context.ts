/** What the parts of the screen share. It changes with the run and its steps, not with the moment. */
import { createContext, useContext, useEffect, useState } from 'react';
import type { Definition, Execution } from '../../api/model';
import type { Outline } from '../../api/outline';
import { hasEnded } from '../../api/queries';
import type { Looks } from '../../canvas/looks';
import { useSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import type { Layout } from '../../graph/layout';
import type { Graph } from '../../graph/model';
import type { Scrub } from '../../graph/scrub';
import { useT } from '../../messages';
import { shortId } from '../../ui/Id';
import { type MomentStore, useMoment } from './moment';
import { runSearch } from './search';

export interface RunView {
  run: Execution;
  definition: Definition;
  graph: Graph;
  layout: Layout | null;
  scrub: Scrub;
  /** Grows with the steps. */
  version: number;
  looks: Looks;
  moment: MomentStore;
  gone: Outline['gone'] | null;
  breakpoints: ReadonlySet<string>;
  toggleBreakpoint: (id: string) => void;
  /** Goes to a moment. `keep`: one more entry in the browser's history. */
  goTo: (seq: number, keep?: boolean) => void;
  select: (node: string | null) => void;
  /** Variables that are set with the next step of the debugger. */
  staged: ReadonlyMap<string, import('../../api/json').Json>;
  stage: (name: string, value: import('../../api/json').Json | undefined) => void;
}

export const RunContext = createContext<RunView | null>(null);

export function useRun(): RunView {
  const view = useContext(RunContext);
  if (view === null) throw new Error('used outside of the page of a run');
  return view;
}

/** The beginning of the name of a file with a part of this run. */
export function useFile(): (string | number)[] {
  const { run } = useRun();
  return [run.schema, shortId(run.id)];
}

export const useRunSearch = () => useSearch(runSearch);

export function useSeq(): number {
  return useMoment(useRun().moment, (state) => state.seq);
}

/** Why nothing can be forked from the moment: behind the step that ended a run nothing follows. Stops and limits end runs between steps. */
export function useForkReason(): string | undefined {
  const t = useT();
  const { reason } = useRole();
  const { run, scrub, graph } = useRun();
  const seq = useSeq();
  const isLast = hasEnded(run) && seq === scrub.last && seq > 0;
  const byStep = scrub.step(seq)?.status === 'failed' || graph.nodes[scrub.nodeOf(seq)]?.type === 'end';
  return reason('operator') ?? (isLast && (run.status === 'completed' || byStep) ? t('run.fork_too_late') : undefined);
}

/** The moment once it rests: what costs a request follows this one. */
export function useRestingSeq(ms = 120): number {
  const seq = useSeq();
  const [resting, setResting] = useState(seq);
  useEffect(() => {
    const timer = setTimeout(() => setResting(seq), ms);
    return () => clearTimeout(timer);
  }, [seq, ms]);
  return resting;
}
