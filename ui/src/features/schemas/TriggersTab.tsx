import { useQuery } from '@tanstack/react-query';
import { api, path } from '../../api/client';
import type { Page, ScheduledAction, Schema } from '../../api/model';
import { Link } from '../../frame/navigate';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { copyText } from '../../ui/copy';
import { Empty } from '../../ui/Empty';
import { Time } from '../../ui/Time';
import { webhookCurl, webhookOf } from './model';
import css from './Schemas.module.css';

type Trigger = Record<string, unknown>;

/** What starts it by itself: addresses to copy, next times. */
export function TriggersTab({ schema }: { schema: Schema }) {
  const t = useT();
  const triggers = (schema.definition?.triggers ?? []) as Trigger[];
  if (triggers.length === 0) {
    return (
      <Empty
        title={t('schemas.no_triggers')}
        action={<Link href={`/schemas/${encodeURIComponent(schema.name)}/edit`}>{t('schemas.edit')}</Link>}
      >
        {t('schemas.no_triggers_about')}
      </Empty>
    );
  }
  return (
    <div className={css.pad}>
      {!schema.active && <p>{t('schemas.triggers_asleep')}</p>}
      {triggers.map((trigger, at) =>
        trigger.type === 'webhook' ? (
          <WebhookView key={keyOf(trigger, at)} trigger={trigger} />
        ) : (
          <CronView key={keyOf(trigger, at)} trigger={trigger} at={at} schema={schema} />
        ),
      )}
    </div>
  );
}

/** A trigger is known by its name or its place. */
const keyOf = (trigger: Trigger, at: number) => `${String(trigger.type)} ${String(trigger.name ?? at)}`;

function WebhookView({ trigger }: { trigger: Trigger }) {
  const t = useT();
  const webhook = webhookOf(trigger);
  return (
    <section className={css.trigger}>
      <header>
        <Chip tone="info">{t('schemas.webhook')}</Chip>
        <b>{webhook.name}</b>
      </header>
      <code>
        {webhook.method} {webhook.url}
      </code>
      <p className={css.faint}>
        {webhook.auth === '' ? t('schemas.open_to_all') : t('schemas.auth', { kind: webhook.auth })} ·{' '}
        {t.name('schemas', 'respond', webhook.respond)}
      </p>
      <div className={css.row}>
        <Button size="small" onClick={() => void copyText(webhook.url)}>
          {t('schemas.copy_url')}
        </Button>
        <Button size="small" onClick={() => void copyText(webhookCurl(webhook))}>
          {t('common.copy_curl')}
        </Button>
      </div>
    </section>
  );
}

function CronView({ trigger, at, schema }: { trigger: Trigger; at: number; schema: Schema }) {
  const t = useT();
  const prefix = `cron:${schema.id}:`;
  const actions = useQuery({
    queryKey: ['schedules', 'of', schema.id],
    queryFn: ({ signal }) => api.get<Page<ScheduledAction>>('/api/scheduled-actions', { prefix, limit: 100 }, signal),
  });
  const name = typeof trigger.name === 'string' ? trigger.name : String(at);
  const action = actions.data?.items.find((one) => one.id === prefix + name) ?? actions.data?.items[at];
  const firings = useQuery({
    queryKey: ['firings', action?.id],
    queryFn: ({ signal }) => api.get<Page<string>>(path('/api/scheduled-actions', action?.id ?? '', 'firings'), { count: 5 }, signal),
    enabled: action !== undefined,
  });
  const times = firings.data?.items ?? [];
  return (
    <section className={css.trigger}>
      <header>
        <Chip tone="info">{t('schemas.cron')}</Chip>
        <code>{String(trigger.cron ?? '')}</code>
        <span className={css.faint}>{String(trigger.timezone ?? 'UTC')}</span>
      </header>
      {times.length > 0 && (
        <ul className={css.row}>
          {times.map((time) => (
            <li key={time}>
              <Time at={time} />
            </li>
          ))}
        </ul>
      )}
      {action && <Link href={`/schedules/${encodeURIComponent(action.id)}`}>{t('schemas.open_schedule')}</Link>}
    </section>
  );
}
