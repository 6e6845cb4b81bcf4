import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { CopyAs } from '../../frame/CopyAs';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Dialog } from '../../ui/Dialog';
import { Field, Input } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { type BulkAction, type BulkOutcomes, type BulkTarget, bulk, bulkCount, bulkFilters, counts, type RunFilter } from './calls';
import { bulkCommand, bulkCurl } from './lines';
import css from './Runs.module.css';

const TYPE_OVER = 100;
const OUTCOMES = ['done', 'skipped', 'conflict', 'not_found', 'failed'] as const;

interface Progress {
  begun: string;
  tried: number;
  outcomes: BulkOutcomes;
  running: boolean;
}

/** Count first, then the action, with the same filter. */
export function BulkDialog({ action, target, onClose }: { action: BulkAction; target: BulkTarget; onClose: () => void }) {
  const t = useT();
  const client = useQueryClient();
  // Relative times are read once: what was counted is what is done.
  const [filters] = useState(() => bulkFilters(target));
  const dry = useQuery({
    queryKey: ['bulk', action, filters],
    queryFn: () => bulkCount(filters, action),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const [progress, setProgress] = useState<Progress | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [typed, setTyped] = useState('');
  const stopped = useRef(false);
  useEffect(() => {
    stopped.current = false;
    return () => {
      stopped.current = true;
    };
  }, []);
  const count = dry.data?.applicable ?? 0;
  const mustType = count > TYPE_OVER;
  const ready = count > 0 && (!mustType || typed.trim() === String(count));

  const run = async () => {
    const begun = new Date().toISOString();
    const sum: BulkOutcomes = { done: 0, skipped: 0, conflict: 0, not_found: 0, failed: 0 };
    let tried = 0;
    setError(null);
    setProgress({ begun, tried, outcomes: { ...sum }, running: true });
    try {
      for (const [at, filter] of filters.entries()) {
        let cursor: string | undefined;
        if (stopped.current) break;
        do {
          const part = await bulk(filter, action, false, cursor);
          tried += part.matched;
          for (const name of OUTCOMES) sum[name] += part.outcomes?.[name] ?? 0;
          cursor = part.next ?? undefined;
          setProgress({ begun, tried, outcomes: { ...sum }, running: cursor !== undefined || at < filters.length - 1 });
        } while (cursor !== undefined && !stopped.current);
      }
    } catch (thrown) {
      setError(thrown);
      setProgress({ begun, tried, outcomes: { ...sum }, running: false });
    }
    await client.invalidateQueries({ queryKey: ['runs'] });
    await client.invalidateQueries({ queryKey: ['runs-counts'] });
  };

  return (
    <Dialog
      title={t(`runs.bulk_title_${action}`)}
      onClose={onClose}
      actions={
        progress ? (
          <Button kind="primary" onClick={onClose}>
            {t(progress.running ? 'runs.bulk_interrupt' : 'common.close')}
          </Button>
        ) : (
          <>
            <CopyAs of={{ command: bulkCommand(target, action), curl: () => bulkCurl(filters, action) }} />
            <Button onClick={onClose}>{t('common.cancel')}</Button>
            <Button
              kind={action === 'stop' ? 'danger' : 'primary'}
              disabledReason={!ready && (count === 0 ? t('runs.bulk_nothing') : t('common.type_first'))}
              onClick={run}
            >
              {t(`runs.bulk_go_${action}`, { n: count })}
            </Button>
          </>
        )
      }
    >
      {dry.isPending && <Skeleton rows={2} />}
      {dry.error && <Problem compact error={dry.error} onRetry={() => void dry.refetch()} />}
      {dry.data && !progress && (
        <Sentence
          action={action}
          matched={dry.data.matched}
          applicable={count}
          filter={'filter' in target ? target.filter : { ids: target.ids.join() }}
        />
      )}
      {dry.data && !progress && mustType && (
        <Field label={t('runs.bulk_type', { n: count })}>
          {(ids) => <Input {...ids} inputMode="numeric" value={typed} onChange={(event) => setTyped(event.target.value)} />}
        </Field>
      )}
      {progress && <Outcome action={action} progress={progress} total={dry.data?.matched ?? 0} />}
      {error !== null && <Problem compact error={error} />}
    </Dialog>
  );
}

function Sentence({ action, matched, applicable, filter }: { action: BulkAction; matched: number; applicable: number; filter: RunFilter }) {
  const t = useT();
  const schemas = useQuery({ ...counts(filter, 'schema'), retry: false }).data?.groups.length;
  return (
    <div className={css.sentence}>
      <p>
        {t(`runs.bulk_count_${action}`, { n: applicable })}{' '}
        {schemas !== undefined && schemas > 0 && t('runs.bulk_of_schemas', { n: schemas })}
      </p>
      {matched > applicable && (
        <p className={css.soft}>{t(action === 'retry' ? 'runs.bulk_before' : 'runs.bulk_unfit', { n: matched - applicable })}</p>
      )}
    </div>
  );
}

function Outcome({ action, progress, total }: { action: BulkAction; progress: Progress; total: number }) {
  const t = useT();
  const { outcomes, tried, running, begun } = progress;
  return (
    <div aria-live="polite">
      {running && <progress className={css.progress} value={tried} max={Math.max(total, tried, 1)} aria-label={t('common.in_progress')} />}
      <p>{running ? t('runs.bulk_running', { n: tried, total }) : t('runs.bulk_finished', { n: tried })}</p>
      <dl className={css.outcome}>
        {OUTCOMES.filter((name) => name === 'done' || outcomes[name] > 0).map((name) => (
          <div key={name} style={{ display: 'contents' }}>
            <dt>{t(`runs.outcome_${name}`)}</dt>
            <dd>{outcomes[name]}</dd>
          </div>
        ))}
      </dl>
      {action === 'retry' && outcomes.done > 0 && !running && <Link href={`/runs?since=${begun}`}>{t('runs.bulk_made')}</Link>}
    </div>
  );
}
