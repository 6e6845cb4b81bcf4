import { ArrowLeftRight } from 'lucide-react';
import { go, Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { IconButton } from '../../ui/Button';
import { formatDuration } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Status } from '../../ui/Status';
import { Time } from '../../ui/Time';
import type { ComparedRun, Comparison } from './api';
import css from './Compare.module.css';

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
    </div>
  );
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
