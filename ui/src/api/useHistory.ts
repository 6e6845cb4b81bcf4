/** The steps of a run: read as an outline, then kept up by the live stream. Whatever the stream loses is read again. */
import { useQueryClient } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Graph } from '../graph/model';
import { microsOf, NO_NODE, Scrub, type StepLine } from '../graph/scrub';
import { asApiError } from './error';
import { type LiveEvent, type RunEvent, RunFeed } from './live';
import type { Execution, Step } from './model';
import { type Outline, outlinePages } from './outline';
import { hasEnded, useLiveEvents } from './queries';

export interface History {
  scrub: Scrub | null;
  /** Grows with every change of `scrub`. */
  version: number;
  ready: boolean;
  error: unknown;
  gone: Outline['gone'] | null;
  again: () => void;
}

const AGAIN_MS = 2_000;

/** How far the steps of `scrub` have been read. */
interface Reading {
  scrub: Scrub | null;
  ready: boolean;
  error: unknown;
  gone: Outline['gone'] | null;
}

const UNREAD: Reading = { scrub: null, ready: false, error: null, gone: null };

function failedWith(before: Reading, scrub: Scrub, error: unknown): Reading {
  return before.scrub === scrub ? { ...before, error } : { ...UNREAD, scrub, error };
}

export function useHistory(run: Execution | undefined, graph: Graph | null): History {
  const scrub = useMemo(() => (graph === null ? null : new Scrub(graph)), [graph]);
  const [kept, setState] = useState<Reading>(UNREAD);
  // What is known of other steps, as of the test run before, says nothing of these.
  const state = kept.scrub === scrub ? kept : UNREAD;
  const [version, setVersion] = useState(0);
  const [asked, setAsked] = useState(0);
  const frame = useRef(0);
  const grown = useCallback(() => {
    if (frame.current !== 0) return;
    frame.current = requestAnimationFrame(() => {
      frame.current = 0;
      setVersion((before) => before + 1);
    });
  }, []);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  const id = run?.id;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `asked` asks again
  useEffect(() => {
    if (id === undefined || scrub === null) return;
    const stop = new AbortController();
    readAll(id, scrub, stop.signal).then(
      (gone) => {
        setState((before) => ({ scrub, ready: true, error: null, gone: gone ?? (before.scrub === scrub ? before.gone : null) }));
        grown();
      },
      (error) => stop.signal.aborted || setState((before) => failedWith(before, scrub, error)),
    );
    return () => stop.abort();
  }, [id, scrub, asked, grown]);
  const again = useCallback(() => setAsked((before) => before + 1), []);
  // While the server is away it is asked again and again: before the first answer there is no stream that would say that it is back.
  useEffect(() => {
    if (state.error === null || !asApiError(state.error).offline) return;
    const timer = setTimeout(again, AGAIN_MS);
    return () => clearTimeout(timer);
  }, [state.error, again]);
  const { ready } = state;
  useFeed(run, scrub, ready, grown, again);
  useMissing(run, scrub, ready, again);
  return { scrub, version, ready, error: state.error, gone: state.gone, again };
}

async function readAll(id: string, scrub: Scrub, signal: AbortSignal): Promise<Outline['gone'] | null> {
  let gone: Outline['gone'] | null = null;
  for await (const outline of outlinePages(id, Math.max(0, scrub.last), signal)) {
    gone ??= outline.gone ?? null;
    scrub.append(outline);
  }
  return gone;
}

/** The run says that it is further than the steps that are known: they are read, once for each number. */
function useMissing(run: Execution | undefined, scrub: Scrub | null, ready: boolean, again: () => void) {
  const asked = useRef<{ scrub: Scrub | null; seq: number }>({ scrub: null, seq: 0 });
  const seq = run?.seq ?? 0;
  useEffect(() => {
    // Another run has numbers of its own.
    if (!ready || scrub === null || (asked.current.scrub === scrub && seq <= asked.current.seq)) return;
    const timer = setTimeout(() => {
      if (seq <= scrub.last) return;
      asked.current = { scrub, seq };
      again();
    }, 100);
    return () => clearTimeout(timer);
  }, [ready, scrub, seq, again]);
}

function useFeed(run: Execution | undefined, scrub: Scrub | null, ready: boolean, grown: () => void, again: () => void) {
  const client = useQueryClient();
  const feed = useRef<{ scrub: Scrub; feed: RunFeed } | null>(null);
  const watched = run !== undefined && ready && !hasEnded(run) ? [{ id: run.id, version: run.event_version }] : [];
  const explainSoon = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(explainSoon.current), []);
  useLiveEvents([], watched, (event: LiveEvent) => {
    if (run === undefined || scrub === null) return;
    if (event.type === 'reset') {
      void client.invalidateQueries({ queryKey: ['run', run.id], exact: true });
      void client.invalidateQueries({ queryKey: ['run', run.id, 'explain'] });
      return again();
    }
    if (event.type !== 'run') return;
    if (feed.current?.scrub !== scrub) feed.current = { scrub, feed: new RunFeed(scrub.last, run.event_version) };
    take(event as RunEvent, run, feed.current.feed);
  });

  function take(event: RunEvent, known: Execution, from: RunFeed) {
    if (scrub !== null && scrub.last > from.lastSeq) from.caughtUp(scrub.last);
    const { steps, execution, gap, gone } = from.push(event);
    for (const step of steps) scrub?.push(lineOf(step, scrub.graph));
    if (steps.length > 0) grown();
    if (execution !== null)
      client.setQueryData<Execution>(['run', known.id], (before) =>
        before === undefined ? execution : { ...before, ...execution, notes: before.notes },
      );
    if (gap) again();
    if (gone) void client.invalidateQueries({ queryKey: ['run', known.id] });
    if (explainSoon.current === undefined) {
      explainSoon.current = setTimeout(() => {
        explainSoon.current = undefined;
        void client.invalidateQueries({ queryKey: ['run', known.id, 'explain'] });
        void client.invalidateQueries({ queryKey: ['run', known.id, 'logs'] });
        void client.invalidateQueries({ queryKey: ['run', known.id, 'signals'] });
      }, 400);
    }
  }
}

function lineOf(step: Step, graph: Graph): StepLine {
  const start = microsOf(step.started_at);
  return {
    seq: step.seq,
    nodeId: step.node_id,
    nodeType: step.node_type,
    node: graph.byId.get(step.node_id) ?? NO_NODE,
    status: step.status,
    exit: step.handle ?? null,
    start,
    duration: microsOf(step.finished_at) - start,
    tries: step.attempts?.length || 1,
    inherited: step.inherited === true,
  };
}
