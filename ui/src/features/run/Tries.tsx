import type { Try } from '../../api/model';
import { between } from '../../api/time';
import { useT } from '../../messages';
import { formatDuration } from '../../ui/format';
import { StepStatusMark } from '../../ui/Status';
import { Time } from '../../ui/Time';
import css from './Inspector.module.css';

export function Tries({ tries }: { tries: readonly Try[] }) {
  const t = useT();
  return (
    <section>
      <h3 className={css.section}>{t('run.tries', { n: tries.length })}</h3>
      <ol className={css.tries}>
        {tries.map((one) => (
          <li key={one.attempt}>
            <span className={css.number}>{one.attempt}</span>
            <StepStatusMark status={one.error === null ? 'success' : 'failed'} word={false} />
            <span>{formatDuration(between(one.started_at, one.finished_at))}</span>
            <Time at={one.started_at} />
            {one.error !== null && (
              <span className={css.tried} title={one.error.message}>
                <code>{one.error.code}</code> {one.error.message}
              </span>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
