/** The keys of the screen. */
import { hasEnded } from '../../api/queries';
import { type Command, useCommands } from '../../frame/commands';
import { go } from '../../frame/navigate';
import { useT } from '../../messages';
import { useForkReason, useRun, useRunSearch } from './context';
import { useDebugger } from './useDebugger';
import { usePlay } from './usePlay';

export function useRunCommands() {
  useCommands([...useMovements(), ...useWays(), ...useDebugKeys()]);
}

function useMovements(): Command[] {
  const t = useT();
  const { scrub, moment, graph, goTo, run } = useRun();
  const [search] = useRunSearch();
  const play = usePlay();
  const seq = () => moment.getState().seq;
  const to = (found: number) => found > 0 && goTo(found);
  const node = () => graph.byId.get(search.node) ?? scrub.nodeOf(seq());
  const one = (id: string, name: string, keys: string, act: () => void): Command => ({
    id: `run.${id}`,
    name,
    keys,
    act,
    group: 'page',
    keyOnly: true,
  });
  return [
    one('previous', t('run.previous_step'), 'ArrowLeft', () => goTo(seq() - 1)),
    one('next', t('run.next_step'), 'ArrowRight', () => goTo(seq() + 1)),
    one('previous_visit', t('run.previous_visit'), 'Shift+ArrowLeft', () => to(scrub.visitBeside(node(), seq(), false))),
    one('next_visit', t('run.next_visit'), 'Shift+ArrowRight', () => to(scrub.visitBeside(node(), seq(), true))),
    one('next_failure', t('run.next_failure'), 'n', () => to(scrub.failureBeside(seq(), true))),
    one('previous_failure', t('run.previous_failure'), 'p', () => to(scrub.failureBeside(seq(), false))),
    one('first', t('run.first_step'), 'Home', () => goTo(scrub.first - 1)),
    one('last', t('run.last_step'), 'End', () => goTo(scrub.last)),
    one('play', t('run.play'), 'Space', play.toggle),
    { ...one('live', t('run.live'), 'l', () => goTo(scrub.last)), keyOnly: hasEnded(run) },
  ];
}

function useWays(): Command[] {
  const t = useT();
  const { run, moment, toggleBreakpoint, scrub, graph } = useRun();
  const [search, set] = useRunSearch();
  const tooLate = useForkReason();
  const node = search.node || graph.nodes[scrub.nodeOf(moment.getState().seq)]?.id || '';
  return [
    {
      id: 'run.fork',
      name: t('run.fork_here'),
      keys: 'f',
      group: 'page',
      disabledReason: tooLate,
      act: () => set({ fork: moment.getState().seq }),
    },
    {
      id: 'run.debug_from_here',
      name: t('run.debug_from_here'),
      keys: 'Shift+F',
      group: 'page',
      disabledReason: tooLate,
      act: () => set({ fork: moment.getState().seq, debug: true }),
    },
    { id: 'run.compare', name: t('run.compare'), keys: 'c', group: 'page', act: () => go(`/runs/${run.id}/compare`) },
    {
      id: 'run.outline',
      name: t(search.view === 'outline' ? 'canvas.view_canvas' : 'canvas.view_outline'),
      keys: 'o',
      group: 'page',
      act: () => set({ view: search.view === 'outline' ? 'canvas' : 'outline' }, { replace: true }),
    },
    {
      id: 'run.breakpoint',
      name: t('run.toggle_breakpoint', { node }),
      keys: 'b',
      group: 'page',
      disabledReason: node === '' && t('run.select_node_first'),
      act: () => toggleBreakpoint(node),
    },
    {
      id: 'run.deselect',
      name: t('run.deselect'),
      keys: 'Escape',
      group: 'page',
      keyOnly: true,
      disabledReason: search.node === '' && '-',
      act: () => set({ node: '' }, { replace: true }),
    },
    {
      id: 'run.edit',
      name: t('run.open_schema'),
      group: 'page',
      act: () => go(`/schemas/${encodeURIComponent(run.schema)}/edit?from=${run.version}`),
    },
  ];
}

function useDebugKeys(): Command[] {
  const t = useT();
  const { step, carryOn, runTo, why, whyRunTo } = useDebugger();
  return [
    { id: 'run.debug_step', name: t('run.debug_step'), keys: 'F10|s', group: 'page', disabledReason: why, act: step },
    { id: 'run.debug_continue', name: t('run.debug_continue'), keys: 'F8|r', group: 'page', disabledReason: why, act: carryOn },
    { id: 'run.debug_to', name: t('run.debug_to'), keys: 't', group: 'page', disabledReason: why ?? whyRunTo, act: runTo },
  ];
}
