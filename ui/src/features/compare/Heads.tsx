import { useQuery } from '@tanstack/react-query';
import { ArrowLeftRight, ChevronDown, ChevronRight } from 'lucide-react';
import { useMemo, useState } from 'react';
import type { Json } from '../../api/json';
import type { Execution } from '../../api/model';
import { go, Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Diff } from '../../ui/Diff';
import { formatDuration } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Status } from '../../ui/Status';
import { Time } from '../../ui/Time';
import { type ComparedRun, type Comparison, compareQueries } from './api';
import css from './Compare.module.css';
import { changesOf } from './values';

/** Left and right, and in one sentence where they part. */
export function Heads({ comparison }: { comparison: Comparison }) {
  const t = useT();
  const { left, right, duration_ms } = comparison;
  return (
    <div className={css.heads}>
      <Head run={left} side="left" ms={duration_ms.left} />
      <IconButton name={t('compare.swap')} icon={<ArrowLeftRight />} onClick={() => go(`/runs/${right.id}/compare?with=${left.id}`)} />
      <Head run={right} side="right" ms={duration_ms.right} />
      <p className={css.verdict}>{verdict(comparison, t)}</p>
      <Started comparison={comparison} />
    </div>
  );
}

/** What differs in what the two were started with. */
function Started({ comparison: { left, right } }: { comparison: Comparison }) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const [one, other] = [useQuery(compareQueries.initial(left.id)).data, useQuery(compareQueries.initial(right.id)).data];
  const changes = useMemo(() => (one === undefined || other === undefined ? null : changesOf(startOf(one), startOf(other))), [one, other]);
  if (changes === null) return null;
  if (changes.length === 0) return <p className={css.started}>{t('compare.same_start')}</p>;
  return (
    <div className={css.started}>
      <Button
        size="small"
        kind="quiet"
        aria-expanded={open}
        icon={open ? <ChevronDown /> : <ChevronRight />}
        onClick={() => setOpen(!open)}
      >
        {t('compare.other_start', { n: changes.length })}
      </Button>
      {open && (
        <div className={css.starts}>
          <Diff changes={changes} />
        </div>
      )}
    </div>
  );
}

function startOf({ initial }: Execution): Json {
  return { input: initial?.input ?? null, webhook: initial?.webhook ?? null, variables: initial?.variables ?? {} };
}

function verdict({ first_divergence: first, same_path }: Comparison, t: ReturnType<typeof useT>) {
  if (first === null) return t('compare.same');
  const place = first.left ?? first.right;
  const sentence = t.rich('compare.first', {
    step: first.index,
    what: t.name('compare', 'what', first.what),
    node: <code>{place?.node_id ?? ''}</code>,
  });
  return (
    <>
      {sentence} {same_path && t('compare.same_path')}
    </>
  );
}

function Head({ run, side, ms }: { run: ComparedRun; side: 'left' | 'right'; ms: number }) {
  const t = useT();
  return (
    <div className={css.head}>
      <span className={css[side]}>{t(side === 'left' ? 'compare.left_letter' : 'compare.right_letter')}</span>
      <Link href={`/runs/${run.id}`}>
        <Id id={run.id} />
      </Link>
      <Status status={run.status} />
      <span className={css.soft}>
        v{run.version} · {formatDuration(ms)} · <Time at={run.created_at} />
      </span>
      {run.gone !== undefined && <span className={css.gone}>{run.gone.message}</span>}
    </div>
  );
}
