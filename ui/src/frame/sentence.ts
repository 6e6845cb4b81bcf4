import type { Execution, Explanation } from '../api/model';
import type { Translate } from '../messages';

/** Why a run is where it is, said from the reason and the facts; in English the engine's own sentence is the most exact. */
export function sentenceOf({ reason, sentence, facts }: Explanation, run: Execution, t: Translate): string {
  if (reason === 'ended' && run.error !== null) return `${run.error.code}: ${run.error.message}`;
  if (t.language === 'en') return sentence.replaceAll('`', '');
  const text = (name: string) => (typeof facts[name] === 'string' || typeof facts[name] === 'number' ? String(facts[name]) : '');
  const ended = reason === 'ended' ? t.maybe(`run.reason_ended_${run.status}`, {}) : undefined;
  return (
    ended ??
    t.maybe(`run.reason_${reason}`, { node: run.current_node_id, event: run.wait?.name ?? text('event'), attempt: run.attempt }) ??
    sentence.replaceAll('`', '')
  );
}
