import type { Graph } from '../graph/model';
import type { Translate } from '../messages';
import type { Looks } from './looks';

/** "is_paid, condition, success, visit 3" */
export function nodeName(graph: Graph, looks: Looks, index: number, t: Translate): string {
  const node = graph.nodes[index];
  return node === undefined ? '' : `${node.title}, ${nodeState(graph, looks, index, t)}`;
}

/** The same after its title: "condition, success, visit 3". */
export function nodeState(graph: Graph, looks: Looks, index: number, t: Translate): string {
  const node = graph.nodes[index];
  if (node === undefined) return '';
  const look = looks.node(index);
  const state =
    look.state === null
      ? look.faint && t('canvas.not_reached')
      : (t.maybe(`common.step_${look.state}`) ?? t.maybe(`common.status_${look.state}`) ?? look.state);
  const parts = [node.type];
  if (state) parts.push(state);
  if (look.problem !== null) parts.push(t(`canvas.problem_${look.problem}`));
  if (look.entry) parts.push(t('canvas.entry'));
  if (look.pinned) parts.push(t('canvas.pinned'));
  if (look.visits > 1) parts.push(t('canvas.visits', { n: look.visits }));
  if (look.ring === 'at') parts.push(t('canvas.at'));
  if (look.ring === 'next') parts.push(t('canvas.next'));
  if (look.breakpoint) parts.push(t('canvas.breakpoint'));
  return parts.join(', ');
}
