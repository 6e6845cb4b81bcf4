/** Going on in the debugger. Every call says after which step it was meant: a double click makes one step. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { asApiError } from '../../api/error';
import type { Json } from '../../api/json';
import type { Execution } from '../../api/model';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { refusalSaid } from '../../messages/said';
import { toast } from '../../ui/toasts';
import { carryOn as callContinue } from './api';
import { useRun, useRunSearch } from './context';

export function useDebugger() {
  const t = useT();
  const client = useQueryClient();
  const { run, scrub, breakpoints, graph, staged, stage, goTo } = useRun();
  const [search] = useRunSearch();
  const { reason } = useRole();
  const [busy, setBusy] = useState(false);
  const stands = run.status === 'waiting_debug';
  const why = reason('operator') ?? (stands ? undefined : t('run.not_in_debugger'));
  const send = async (mode: Json) => {
    if (busy) return;
    setBusy(true);
    const variables = staged.size === 0 ? undefined : Object.fromEntries(staged);
    try {
      goTo(scrub.last);
      const answer = await callContinue(run.id, { mode, variables, expect_seq: run.seq });
      client.setQueryData<Execution>(['run', run.id], (before) =>
        before !== undefined && before.event_version > answer.event_version ? before : { ...answer, notes: before?.notes },
      );
      for (const name of staged.keys()) stage(name, undefined);
      for (const warning of answer.warnings ?? []) toast({ text: warning, tone: 'warn' });
    } catch (thrown) {
      const error = asApiError(thrown);
      const message = refusalSaid(error, t);
      toast({ text: error.status === 409 ? t('run.stands_elsewhere', { message }) : message, tone: 'bad' });
      void client.invalidateQueries({ queryKey: ['run', run.id] });
    } finally {
      setBusy(false);
    }
  };
  const stops = [...breakpoints].filter((id) => graph.byId.has(id));
  const target = search.node;
  const whyRunTo = target === '' ? t('run.select_node_first') : undefined;
  return {
    stands,
    busy,
    why,
    whyRunTo,
    target,
    stops,
    step: () => void send('step'),
    carryOn: () => void send(stops.length === 0 ? 'run' : { until: stops.slice(0, 100) }),
    runTo: () => void send({ to: target }),
  };
}
