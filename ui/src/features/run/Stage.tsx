import { useEffect, useState } from 'react';
import { hasEnded } from '../../api/queries';
import { Canvas } from '../../canvas/Canvas';
import { Outline } from '../../canvas/Outline';
import { ViewSwitch } from '../../canvas/ViewSwitch';
import { useT } from '../../messages';
import { useRun, useRunSearch } from './context';
import { nextOf, useMoment } from './moment';
import css from './Run.module.css';

/** The graph: as a picture, or as a list of the same nodes with the same actions. */
export function Stage() {
  const t = useT();
  const { graph, layout, looks, run, scrub, moment, select, breakpoints } = useRun();
  const [search, set] = useRunSearch();
  const selected = search.node || null;
  const follow = useFollowed();
  const label = t('run.canvas', { schema: run.schema, n: graph.nodes.length });
  const open = (id: string) => {
    select(id);
    set({ tab: 'step' }, { replace: true });
  };
  const shown = () => ({ scrub, run, seq: moment.getState().seq, breakpoints });
  return (
    <div className={css.stage}>
      {search.view === 'outline' ? (
        <Outline graph={graph} looks={looks} label={label} selected={selected} onSelect={select} onOpen={open} />
      ) : (
        layout !== null && (
          <Canvas
            graph={graph}
            layout={layout}
            looks={looks}
            label={label}
            selected={selected}
            onSelect={select}
            onOpen={open}
            follow={follow}
            focus={graph.nodes[nextOf(shown())]?.id ?? null}
          />
        )
      )}
      <ViewSwitch view={search.view} onView={(view) => set({ view }, { replace: true })} />
      <Told />
    </div>
  );
}

/** The node of the moment; while the run is fast, not each of them. */
function useFollowed(): string | null {
  const { graph, scrub, run, moment, version } = useRun();
  const seq = useMoment(moment, (state) => state.seq);
  const at = seq >= scrub.last && !hasEnded(run) ? run.current_node_id : (graph.nodes[scrub.nodeOf(seq)]?.id ?? null);
  const [settled, setSettled] = useState<string | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => version >= 0 && setSettled(at), 120);
    return () => clearTimeout(timer);
  }, [at, version]);
  return settled;
}

/** One polite sentence a second at the most, never one per step. */
function Told() {
  const t = useT();
  const { scrub, run, version } = useRun();
  const [said, setSaid] = useState({ last: scrub.last, text: '' });
  useEffect(() => {
    if (version < 0 || scrub.last === said.last) return;
    const timer = setTimeout(
      () => setSaid({ last: scrub.last, text: t('run.told', { n: scrub.last - said.last, node: run.current_node_id }) }),
      1000,
    );
    return () => clearTimeout(timer);
  }, [version, scrub, said, run.current_node_id, t]);
  return (
    <p className="sr" aria-live="polite">
      {said.text}
    </p>
  );
}
