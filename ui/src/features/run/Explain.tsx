import * as Ariakit from '@ariakit/react';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { Execution } from '../../api/model';
import { hasEnded, queries } from '../../api/queries';
import { useCommands } from '../../frame/commands';
import { explained, sentenceOf, timeOf } from '../../frame/sentence';
import { useT } from '../../messages';
import { cx } from '../../ui/cx';
import { Countdown } from '../../ui/Time';
import { Facts } from './Facts';
import css from './Head.module.css';

/** Why the run is where it is: one sentence, and the facts behind it. */
export function Explain({ run }: { run: Execution }) {
  const t = useT();
  const explain = useQuery({ ...queries.explain(run.id), refetchInterval: hasEnded(run) ? false : 15_000 });
  const store = Ariakit.usePopoverStore({ placement: 'bottom-start' });
  useCommands([{ id: 'run.explain', name: t('run.explain'), keys: 'e', group: 'page', act: () => store.toggle() }]);
  const { refetch } = explain;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another state has another reason
  useEffect(() => void refetch(), [run.event_version, refetch]);
  if (explain.data === undefined) return null;
  const { data } = explain;
  return (
    <div className={css.explain}>
      <Ariakit.PopoverDisclosure store={store} className={cx(css.sentence, run.error !== null && css.bad)}>
        {plainly(sentenceOf(data, run, t))}
        {run.wait?.wake_at && (
          <>
            {' '}
            · <Countdown until={run.wait.wake_at} />
          </>
        )}
      </Ariakit.PopoverDisclosure>
      <Ariakit.Popover store={store} portal unmountOnHide className={css.popover} aria-label={t('run.explain')}>
        <p className={css.whole}>{explained(data, t).replaceAll('`', '')}</p>
        <Facts facts={data.facts} />
      </Ariakit.Popover>
    </div>
  );
}

/** The engine's sentence for a line of a page: times as people read them; what is left is counted down beside it. */
function plainly(sentence: string): string {
  return sentence
    .replaceAll('`', '')
    .replace(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z), in [\w.]+( \(timer shard \d+\))?/g, '$1')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, timeOf);
}
