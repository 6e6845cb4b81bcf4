import type { Status } from '../../api/model';
import { useT } from '../../messages';
import { toneOf } from '../../ui/Status';
import css from './Schemas.module.css';

const HEIGHTS: Record<string, string | undefined> = {
  bad: css.tall,
  good: css.full,
  warn: css.half,
  info: css.half,
  accent: css.half,
  debug: css.half,
  idle: css.low,
};

/** The newest 20 runs, oldest at the left; height says the same as colour. */
export function Outcomes({ runs }: { runs: { id: string; status: Status }[] }) {
  const t = useT();
  if (runs.length === 0) return <span className={css.faint}>{t('schemas.no_runs')}</span>;
  const counts = new Map<Status, number>();
  for (const run of runs) counts.set(run.status, (counts.get(run.status) ?? 0) + 1);
  const label = [...counts].map(([status, count]) => `${t.name('common', 'status', status)} ${count}`).join(', ');
  return (
    <span className={css.strip} role="img" aria-label={label} title={label}>
      {[...runs].reverse().map((run) => (
        <i key={run.id} className={HEIGHTS[toneOf(run.status)]} style={{ background: `var(--${toneOf(run.status)})` }} />
      ))}
    </span>
  );
}
