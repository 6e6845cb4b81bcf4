import { usePages } from '../../api/pages';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Listing } from '../../ui/Listing';
import { Duration, Time } from '../../ui/Time';
import type { Attempt } from './model';
import css from './Schedules.module.css';
import { Outcome } from './State';

/** Attempts that are over, newest first; the engine keeps about a hundred. */
export function Attempts({ id }: { id: string }) {
  const t = useT();
  const pages = usePages<Attempt>(['schedules', 'attempts', id], `/api/scheduled-actions/${encodeURIComponent(id)}/attempts`, {
    limit: 20,
  });
  return (
    <Listing pages={pages} empty={<p className={css.faint}>{t('schedules.attempts_none')}</p>}>
      {(rows) => (
        <>
          <table className={css.firings}>
            <thead>
              <tr>
                <th scope="col">{t('schedules.planned')}</th>
                <th scope="col">{t('schedules.started')}</th>
                <th scope="col">{t('schedules.took')}</th>
                <th scope="col">{t('schedules.outcome')}</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((attempt) => (
                <Row key={`${attempt.generation}.${attempt.ordinal}`} attempt={attempt} />
              ))}
            </tbody>
          </table>
          {pages.more && (
            <Button size="small" onClick={pages.onEnd}>
              {t('common.more')}
            </Button>
          )}
        </>
      )}
    </Listing>
  );
}

function Row({ attempt }: { attempt: Attempt }) {
  const t = useT();
  return (
    <tr>
      <td>
        <Time at={attempt.planned_at} />{' '}
        {attempt.number > 1 && <span className={css.faint}>{t('schedules.attempt_try', { n: attempt.number })}</span>}
      </td>
      <td>
        <Time at={attempt.started_at} />
      </td>
      <td>
        <Duration from={attempt.started_at} to={attempt.finished_at} />
      </td>
      <td>
        <Outcome outcome={attempt.outcome} />
        {attempt.error && (
          <span className={css.error}>
            <code>{attempt.error.code}</code> {attempt.error.message}
          </span>
        )}
      </td>
    </tr>
  );
}
