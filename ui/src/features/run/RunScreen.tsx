import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState } from 'react';
import type { Json } from '../../api/json';
import type { Execution } from '../../api/model';
import type { History } from '../../api/useHistory';
import { Looks } from '../../canvas/looks';
import { useLayout } from '../../canvas/useLayout';
import type { Graph } from '../../graph/model';
import type { Scrub } from '../../graph/scrub';
import { useT } from '../../messages';
import { type RunDefinition, runQueries } from './api';
import { RunContext, type RunView, useRunSearch } from './context';
import { DebugBar } from './DebugBar';
import { Dialogs } from './Dialogs';
import { Drawer } from './Drawer';
import { Inspector } from './Inspector';
import { boundSteps } from './kept';
import { createMoment, type MomentStore, paint } from './moment';
import css from './Run.module.css';
import { Scrubber } from './Scrubber';
import { Stage } from './Stage';
import { useBreakpoints } from './useBreakpoints';
import { useRunCommands } from './useRunCommands';
import { barHandlers, useSizes } from './useSizes';

interface Props {
  run: Execution;
  definition: RunDefinition;
  graph: Graph;
  history: History;
}

export function RunScreen({ run, definition, graph, history }: Props) {
  const scrub = history.scrub as Scrub;
  const positions = useQuery(runQueries.positions(definition.schema_id || definition.schema));
  const layout = useLayout(graph, positions.data?.positions);
  const [breakpoints, toggleBreakpoint] = useBreakpoints(definition.schema);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another graph has other cards
  const looks = useMemo(() => Object.assign(new Looks(), { onGutter: toggleBreakpoint }), [graph, toggleBreakpoint]);
  const [search, set] = useRunSearch();
  const [moment] = useState(() => createMoment(search.step === undefined ? undefined : Math.min(search.step, scrub.last)));
  const [staged, stage] = useStaged();
  useAddress(moment, scrub, history.version, search.step);
  useGrowth(moment, scrub, history.version);
  usePainting(looks, moment, scrub, run, history.version, breakpoints);
  const view = useMemo((): RunView => {
    const goTo = (seq: number, keep = false) => {
      const to = Math.max(scrub.first - 1, Math.min(scrub.last, seq));
      moment.setState({ seq: to, end: to === scrub.last });
      // The moment as it is by then: a step that was made in between has moved the end, not the moment.
      writeSoon(() => {
        const now = moment.getState();
        set({ step: now.end ? undefined : now.seq }, { replace: !keep });
      });
    };
    const select = (node: string | null) =>
      set({ node: node ?? '', step: moment.getState().end ? undefined : moment.getState().seq }, { replace: true });
    const gone = history.gone ?? null;
    return {
      run,
      definition: definition.definition,
      graph,
      layout,
      scrub,
      version: history.version,
      looks,
      moment,
      gone,
      breakpoints,
      toggleBreakpoint,
      goTo,
      select,
      staged,
      stage,
    };
  }, [
    run,
    definition,
    graph,
    layout,
    scrub,
    history.version,
    history.gone,
    looks,
    moment,
    breakpoints,
    toggleBreakpoint,
    set,
    staged,
    stage,
  ]);
  return (
    <RunContext.Provider value={view}>
      <Regions />
      <Dialogs />
    </RunContext.Provider>
  );
}

function Regions() {
  const t = useT();
  const [search] = useRunSearch();
  const { sizes, set } = useSizes();
  useRunCommands();
  const client = useQueryClient();
  useEffect(() => boundSteps(client), [client]);
  return (
    <div className={css.screen}>
      <div className={css.upper}>
        <div className={css.left}>
          <Stage />
          <DebugBar />
        </div>
        <div
          role="separator"
          tabIndex={0}
          aria-orientation="vertical"
          aria-valuenow={sizes.inspector}
          aria-label={t('run.resize_inspector')}
          className={css.bar}
          {...barHandlers('inspector', sizes.inspector, set)}
        />
        <div className={css.inspector} style={{ width: sizes.inspector }}>
          <Inspector />
        </div>
      </div>
      <Scrubber />
      <div
        role="separator"
        tabIndex={0}
        aria-orientation="horizontal"
        aria-valuenow={sizes.drawer}
        aria-label={t('run.resize_drawer')}
        className={css.lying}
        hidden={search.low === 'none'}
        {...barHandlers('drawer', sizes.drawer, set)}
      />
      <div className={css.drawer} style={{ height: search.low === 'none' ? 37 : sizes.drawer }}>
        <Drawer />
      </div>
    </div>
  );
}

let writing: ReturnType<typeof setTimeout> | undefined;

/** Browsers refuse an address that changes with every frame. */
function writeSoon(write: () => void) {
  clearTimeout(writing);
  writing = setTimeout(() => {
    writing = undefined;
    write();
  }, 150);
}

function useStaged() {
  const [staged, setStaged] = useState<ReadonlyMap<string, Json>>(new Map());
  const [stage] = useState(
    () => (name: string, value: Json | undefined) =>
      setStaged((before) => {
        const next = new Map(before);
        if (value === undefined) next.delete(name);
        else next.set(name, value);
        return next;
      }),
  );
  return [staged, stage] as const;
}

/** Back and forward of the browser move the moment. */
function useAddress(moment: MomentStore, scrub: Scrub, version: number, step: number | undefined) {
  const seen = useRef(step);
  useEffect(() => {
    if (version < 0 || seen.current === step) return;
    seen.current = step;
    const { seq, end } = moment.getState();
    const shown = end ? undefined : seq;
    if (step === shown || writing !== undefined) return;
    moment.setState(step === undefined ? { seq: scrub.last, end: true } : { seq: Math.min(step, scrub.last), end: step >= scrub.last });
  }, [moment, scrub, version, step]);
  useEffect(
    () => () => {
      clearTimeout(writing);
      writing = undefined;
    },
    [],
  );
}

/** At the end the moment goes along with new steps. */
function useGrowth(moment: MomentStore, scrub: Scrub, version: number) {
  useEffect(() => {
    if (version >= 0 && moment.getState().end) moment.setState({ seq: scrub.last });
  }, [moment, scrub, version]);
}

function usePainting(looks: Looks, moment: MomentStore, scrub: Scrub, run: Execution, version: number, breakpoints: ReadonlySet<string>) {
  useEffect(() => {
    if (version < 0) return;
    let painted = moment.getState().seq;
    let frame = 0;
    paint(looks, { scrub, run, seq: painted, breakpoints }, null);
    const draw = () => {
      frame = 0;
      const { seq } = moment.getState();
      if (seq !== painted) paint(looks, { scrub, run, seq, breakpoints }, painted);
      painted = seq;
    };
    const stop = moment.subscribe(() => {
      if (frame === 0) frame = requestAnimationFrame(draw);
    });
    return () => {
      cancelAnimationFrame(frame);
      stop();
    };
  }, [looks, moment, scrub, run, version, breakpoints]);
}
