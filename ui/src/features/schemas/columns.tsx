import { CalendarClock, Radio, Webhook } from 'lucide-react';
import { Link } from '../../frame/navigate';
import type { Translate } from '../../messages';
import { Chip } from '../../ui/Chip';
import { formatNumber } from '../../ui/format';
import type { Column } from '../../ui/Table';
import { Ago, Countdown } from '../../ui/Time';
import { Tooltip } from '../../ui/Tooltip';
import type { ListedSchema } from './model';
import { Outcomes } from './Outcomes';
import css from './Schemas.module.css';

const ICONS: Record<string, typeof Webhook> = { cron: CalendarClock, webhook: Webhook };

export function schemaColumns(t: Translate): Column<ListedSchema>[] {
  return [
    {
      id: 'name',
      head: t('schemas.name'),
      width: 'minmax(200px, 2fr)',
      cell: (row) => (
        <span className={css.name}>
          <Link href={`/schemas/${encodeURIComponent(row.name)}`}>{row.name}</Link>
          {row.description && <small>{row.description}</small>}
        </span>
      ),
    },
    {
      id: 'state',
      head: t('schemas.state'),
      width: '96px',
      cell: (row) => <Chip tone={row.active ? 'good' : 'idle'}>{t(row.active ? 'schemas.active_one' : 'schemas.inactive_one')}</Chip>,
    },
    { id: 'version', head: t('schemas.version'), width: '80px', cell: (row) => <VersionText row={row} /> },
    { id: 'triggers', head: t('schemas.triggers'), width: '96px', cell: (row) => <TriggerIcons row={row} /> },
    {
      id: 'open',
      head: t('schemas.open'),
      width: '72px',
      align: 'end',
      cell: (row) =>
        row.summary && row.summary.open > 0 ? (
          <Link href={`/runs?schema=${encodeURIComponent(row.name)}&status=pending,queued,running,sleeping,waiting,paused,waiting_debug`}>
            {formatNumber(row.summary.open)}
            {row.summary.open_capped ? '+' : ''}
          </Link>
        ) : null,
    },
    { id: 'last', head: t('schemas.outcomes'), width: '184px', cell: (row) => <Outcomes runs={row.summary?.last ?? []} /> },
    {
      id: 'next',
      head: t('schemas.next'),
      width: '104px',
      cell: (row) => (row.summary?.next_at ? <Countdown until={row.summary.next_at} /> : null),
    },
    { id: 'changed', head: t('schemas.changed'), width: '132px', cell: (row) => <Ago at={row.updated_at} /> },
  ];
}

function VersionText({ row }: { row: ListedSchema }) {
  const published = row.published_version ?? row.latest_version;
  return (
    <span>
      v{published}
      {published !== row.latest_version && <span className={css.faint}> · v{row.latest_version}</span>}
    </span>
  );
}

function TriggerIcons({ row }: { row: ListedSchema }) {
  return (
    <span className={css.icons}>
      {(row.summary?.triggers ?? []).slice(0, 4).map((trigger) => {
        const Icon = ICONS[trigger.kind] ?? Radio;
        return (
          <Tooltip key={`${trigger.kind} ${trigger.name} ${trigger.text}`} text={trigger.text}>
            <span role="img" aria-label={`${trigger.kind} ${trigger.text}`} tabIndex={-1}>
              <Icon aria-hidden />
            </span>
          </Tooltip>
        );
      })}
    </span>
  );
}
