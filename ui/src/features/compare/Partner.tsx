import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Execution } from '../../api/model';
import { hasEnded } from '../../api/queries';
import { useSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Input, Select } from '../../ui/Field';
import { formatTime } from '../../ui/format';
import { shortId } from '../../ui/Id';
import { compareQueries } from './api';
import css from './Compare.module.css';
import { compareSearch } from './search';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** With which run: the last good one, the parent, the retry, a recent one, or any by its id. */
export function Partner({ run, chosen }: { run: Execution | undefined; chosen: string }) {
  const t = useT();
  const [search, set] = useSearch(compareSearch);
  const [typed, setTyped] = useState('');
  const recent = useQuery(compareQueries.candidates(run?.schema ?? ''));
  if (run === undefined) return null;
  const failed = run.status !== 'completed' && hasEnded(run);
  // As the page chooses without an address: a failed run stands beside the last good one, another beside the one it came from.
  const origin = failed
    ? null
    : run.retry_of
      ? t('compare.retry_of', { id: shortId(run.retry_of) })
      : run.forked_from
        ? t('compare.parent', { id: shortId(run.forked_from) })
        : null;
  const named = [
    { value: '', name: origin ?? t('compare.last_good') },
    ...(run.retry_of && origin === null ? [{ value: run.retry_of, name: t('compare.retry_of', { id: shortId(run.retry_of) }) }] : []),
    ...(run.forked_from && (origin === null || run.retry_of)
      ? [{ value: run.forked_from, name: t('compare.parent', { id: shortId(run.forked_from) }) }]
      : []),
    ...(run.retried_as ? [{ value: run.retried_as, name: t('compare.retried_as', { id: shortId(run.retried_as) }) }] : []),
  ];
  const known = new Set([run.id, ...named.map((one) => one.value)]);
  const others = (recent.data?.items ?? [])
    .filter((one) => !known.has(one.id))
    .map((one) => ({
      value: one.id,
      name: `${shortId(one.id)} · ${t.name('common', 'status', one.status)} · ${formatTime(one.created_at, 'full')}`,
    }));
  for (const one of others) known.add(one.value);
  const extra = search.with !== '' && !known.has(search.with) ? [{ value: search.with, name: shortId(search.with) }] : [];
  return (
    <>
      <label className={css.soft} htmlFor="partner">
        {t('compare.with')}
      </label>
      <Select
        id="partner"
        value={search.with}
        title={chosen}
        onValue={(value) => set({ with: value, pair: '' })}
        choices={[...named, ...extra, ...others]}
      />
      <Input
        mono
        className={css.any}
        aria-label={t('compare.any_id')}
        placeholder={t('compare.any_id')}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value);
          const id = event.target.value.trim();
          if (UUID.test(id)) set({ with: id.toLowerCase(), pair: '' });
        }}
      />
    </>
  );
}
