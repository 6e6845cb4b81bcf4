import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Link, useSearch } from '../../frame/navigate';
import { useT } from '../../messages';
import { Diff } from '../../ui/Diff';
import { Checkbox } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { type Comparison, compareQueries } from './api';
import css from './Compare.module.css';
import { compareSearch } from './search';

/** Places that differ in every run: headers of answers, times, ids. */
const NOISE = /\/(headers|date|created_at|updated_at|started_at|finished_at|at|time|timestamp|request_id|trace_id)(\/|$)/i;

/** What differs in one visit. Without a choice it is the first divergence. */
export function PairView({ comparison }: { comparison: Comparison }) {
  const t = useT();
  const [search] = useSearch(compareSearch);
  const [quiet, setQuiet] = useState(true);
  const at = search.pair.lastIndexOf(':');
  const first = comparison.steps.find((pair) => !pair.same) ?? comparison.steps[0];
  const node = at > 0 ? search.pair.slice(0, at) : (first?.node_id ?? '');
  const visit = at > 0 ? Number(search.pair.slice(at + 1)) || 1 : (first?.visit ?? 1);
  const pair = useQuery({ ...compareQueries.pair(comparison.left.id, comparison.right.id, node, visit), enabled: node !== '' });
  const shown = comparison.steps.find((one) => one.node_id === node && one.visit === visit);
  if (node === '') return <p className={css.quiet}>{t('compare.nothing')}</p>;
  const all = pair.data?.difference ?? [];
  const changes = quiet ? all.filter((change) => !NOISE.test(change.path)) : all;
  return (
    <div className={css.pair}>
      <header>
        <h2>{visit > 1 ? t('compare.node_visit', { node, visit }) : node}</h2>
        <p className={css.links}>
          {shown?.left && (
            <Link href={`/runs/${comparison.left.id}?step=${shown.left.seq}&node=${encodeURIComponent(node)}`}>
              {t('compare.left_step', { step: shown.left.seq })}
            </Link>
          )}
          {shown?.right && (
            <Link href={`/runs/${comparison.right.id}?step=${shown.right.seq}&node=${encodeURIComponent(node)}`}>
              {t('compare.right_step', { step: shown.right.seq })}
            </Link>
          )}
        </p>
      </header>
      {shown !== undefined && (shown.left === null || shown.right === null) ? (
        <p className={css.quiet}>{t(shown.left === null ? 'compare.only_right' : 'compare.only_left')}</p>
      ) : pair.error ? (
        <Problem error={pair.error} onRetry={() => void pair.refetch()} compact />
      ) : pair.data === undefined ? (
        <Skeleton rows={5} height={22} />
      ) : (
        <>
          <Checkbox
            label={t('compare.hide_noise', { n: all.length - all.filter((change) => !NOISE.test(change.path)).length })}
            checked={quiet}
            onChange={(event) => setQuiet(event.target.checked)}
          />
          <Diff changes={changes} />
        </>
      )}
    </div>
  );
}
