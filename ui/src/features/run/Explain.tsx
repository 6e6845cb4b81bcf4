import * as Ariakit from '@ariakit/react';
import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { type Json, write } from '../../api/json';
import type { Execution, Explanation } from '../../api/model';
import { hasEnded, queries } from '../../api/queries';
import { useCommands } from '../../frame/commands';
import { Link } from '../../frame/navigate';
import { sentenceOf } from '../../frame/sentence';
import { useT } from '../../messages';
import { cx } from '../../ui/cx';
import { formatTime, timeStyleFor } from '../../ui/format';
import { Countdown, Time } from '../../ui/Time';
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
        <p className={css.whole}>{t.language === 'en' ? data.sentence : sentenceOf(data, run, t)}</p>
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
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => formatTime(time, timeStyleFor(time, Date.now())));
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/;

function Facts({ facts }: { facts: Explanation['facts'] }) {
  return (
    <dl className={css.facts}>
      {Object.entries(facts).map(([name, value]) => (
        <Fact key={name} name={name} value={value} />
      ))}
    </dl>
  );
}

function Fact({ name, value }: { name: string; value: Json }) {
  if (value === null || value === '') return null;
  return (
    <>
      <dt>{name.replaceAll('_', ' ')}</dt>
      <dd>{shown(name, value)}</dd>
    </>
  );
}

function shown(name: string, value: Json) {
  if (typeof value !== 'string') return typeof value === 'object' ? <code>{write(value)}</code> : String(value);
  if (TIME.test(value)) return <Time at={value} />;
  if (/^(retried_as|retry_of|forked_from|holder|execution_id)$/.test(name)) return <Link href={`/runs/${value}`}>{value}</Link>;
  if (name === 'quota') return <Link href={`/quotas/${value.replace(':', '/')}`}>{value}</Link>;
  if (name === 'worker') return <Link href="/workers">{value}</Link>;
  return value;
}
