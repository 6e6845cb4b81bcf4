import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Status } from '../../ui/Status';
import { Countdown, Time } from '../../ui/Time';
import { useRun } from './context';
import css from './Inspector.module.css';
import { Tries } from './Tries';

/** The node where the run stands now: since when, until when, which try, who has it. */
export function Waiting() {
  const t = useT();
  const { run } = useRun();
  const { wait } = run;
  return (
    <section className={css.waiting}>
      <p className={css.facts}>
        <Status status={run.status} />
        {run.entered_at && (
          <span>
            {t('run.since')} <Time at={run.entered_at} />
          </span>
        )}
        {wait?.wake_at && (
          <span>
            {t('run.until')} <Time at={wait.wake_at} /> (<Countdown until={wait.wake_at} />)
          </span>
        )}
      </p>
      {wait?.name && <p>{t.rich('run.waits_for_event', { name: <code>{wait.name}</code> })}</p>}
      {run.attempt > 1 && <p>{t('run.attempt', { n: run.attempt })}</p>}
      {run.last_error !== null && (
        <p className={css.message}>
          <code>{run.last_error.code}</code> {run.last_error.message}
        </p>
      )}
      {run.lease && (
        <p>
          {t('run.worker')} <Link href="/workers">{run.lease.owner}</Link>
        </p>
      )}
      {run.tries !== undefined && run.tries.length > 0 && <Tries tries={run.tries} />}
    </section>
  );
}
