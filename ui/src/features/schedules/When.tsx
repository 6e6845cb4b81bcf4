import { useT } from '../../messages';
import { Time } from '../../ui/Time';
import type { Schedule } from './model';

/** As it is written: cron line and zone, period, or the one time. */
export function When({ schedule }: { schedule: Pick<Schedule, 'spec'> }) {
  const t = useT();
  const { policy, start_at: start } = schedule.spec;
  if (policy.cron) return t.rich('schedules.cron', { expr: <code>{policy.cron.expr}</code>, zone: policy.cron.timezone ?? 'UTC' });
  if (policy.periodic) return t('schedules.every', { period: policy.periodic.period });
  return start ? t.rich('schedules.once', { time: <Time at={start} /> }) : t('schedules.once_now');
}
