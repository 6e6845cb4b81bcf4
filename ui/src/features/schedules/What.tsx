import { CalendarClock, Globe, Play, Send } from 'lucide-react';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { ownerSchema, type Schedule, startsSchema } from './model';
import css from './Schedules.module.css';

/** Icon and target. Addresses are shown as text. */
export function What({ schedule, links = true }: { schedule: Pick<Schedule, 'id' | 'meta' | 'spec'>; links?: boolean }) {
  const t = useT();
  const { start_execution: start, http_callback: http, rabbitmq_publish: publish } = schedule.spec.action;
  if (start) {
    const name = startsSchema(schedule) ?? start.schema;
    const place = links ? <Link href={`/schemas/${encodeURIComponent(name)}`}>{name}</Link> : name;
    return (
      <span className={css.what}>
        {ownerSchema(schedule) ? <CalendarClock aria-hidden /> : <Play aria-hidden />}
        <span>{t.rich('schedules.starts', { schema: place })}</span>
      </span>
    );
  }
  if (http)
    return (
      <span className={css.what}>
        <Globe aria-hidden />
        <span>{t('schedules.calls', { method: http.method ?? 'POST', url: http.url })}</span>
      </span>
    );
  if (publish) {
    const target = [publish.connection, publish.exchange, publish.routing_key].filter(Boolean).join(' · ');
    return (
      <span className={css.what}>
        <Send aria-hidden />
        <span>{t('schedules.publishes', { target })}</span>
      </span>
    );
  }
  return <span className={css.what}>{t('schedules.pretends')}</span>;
}
