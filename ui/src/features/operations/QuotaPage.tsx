import { useQuery } from '@tanstack/react-query';
import { ListFilter, Pencil, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { api } from '../../api/client';
import { queryClient, useLiveQueries } from '../../api/queries';
import { CopyAs } from '../../frame/CopyAs';
import { go, Link, useParam } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { curl, pawl } from '../../frame/terminal';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Confirm } from '../../ui/Confirm';
import { formatNumber } from '../../ui/format';
import { Id } from '../../ui/Id';
import { Loaded } from '../../ui/Loaded';
import { Page, Panel } from '../../ui/Page';
import { Ago, Duration, Time } from '../../ui/Time';
import { toast } from '../../ui/toasts';
import { Bar } from './Bar';
import css from './Operations.module.css';
import { type Quota, quotaCall, waitingRuns } from './quotas';
import { SetQuota } from './SetQuota';

export default function QuotaPage() {
  const t = useT();
  const kind = useParam('kind');
  const name = useParam('name');
  const { reason } = useRole();
  const [open, setOpen] = useState<'change' | 'remove' | null>(null);
  const quota = useQuery({
    queryKey: ['quotas', 'one', kind, name],
    queryFn: ({ signal }) => api.get<Quota>(quotaCall(kind, name), undefined, signal),
  });
  useLiveQueries(['executions'], [['quotas']]);
  const why = reason('editor') ?? (quota.data ? undefined : t('common.loading'));
  const remove = async () => {
    await api.delete(quotaCall(kind, name));
    toast({ tone: 'good', text: t('operations.removed') });
    void queryClient.invalidateQueries({ queryKey: ['quotas'] });
    go('/quotas');
  };
  return (
    <Page
      scroll
      crumbs={<Link href="/quotas">{t('frame.nav_quotas')}</Link>}
      title={`${t.name('operations', 'kind', kind)}: ${name}`}
      actions={
        <>
          <Button kind="danger" icon={<Trash2 />} disabledReason={why} onClick={() => setOpen('remove')}>
            {t('operations.remove')}
          </Button>
          <Button kind="primary" icon={<Pencil />} disabledReason={why} onClick={() => setOpen('change')}>
            {t('operations.change_quota')}
          </Button>
        </>
      }
    >
      <Loaded query={quota}>{(one) => <Details quota={one} />}</Loaded>
      {open === 'change' && quota.data && <SetQuota quota={quota.data} onClose={() => setOpen(null)} />}
      {open === 'remove' && (
        <Confirm
          title={t('operations.remove_title', { name })}
          name={t('operations.remove')}
          act={remove}
          aside={
            <CopyAs of={{ command: () => pawl('quota remove', [`${kind}:${name}`]), curl: () => curl('DELETE', quotaCall(kind, name)) }} />
          }
          onClose={() => setOpen(null)}
        >
          <p>{t('operations.remove_text')}</p>
        </Confirm>
      )}
    </Page>
  );
}

function Details({ quota }: { quota: Quota }) {
  const t = useT();
  const limit = quota.limit === null ? t('operations.unlimited') : formatNumber(quota.limit);
  return (
    <div className={css.panels}>
      <Panel title={t('operations.quota')}>
        <dl className={css.facts}>
          <dt>{t('operations.limit')}</dt>
          <dd>{limit}</dd>
          <dt>{t('operations.used')}</dt>
          <dd className={css.usedBar}>
            <Bar used={quota.used} of={quota.limit} text={formatNumber(quota.used)} />
          </dd>
          <dt>{t('operations.waiting')}</dt>
          <dd>
            {formatNumber(quota.waiting)}{' '}
            {quota.waiting > 0 && (
              <Link href={waitingRuns(quota)} className={css.iconLink}>
                <ListFilter aria-hidden /> {t('operations.who_waits')}
              </Link>
            )}
          </dd>
          {quota.rate && (
            <>
              <dt>{t('operations.rate')}</dt>
              <dd>{quota.rate}</dd>
            </>
          )}
          <dt>{t('operations.source')}</dt>
          <dd>{t(`operations.source_${quota.source}`)}</dd>
          <dt>{t('operations.updated')}</dt>
          <dd>
            <Time at={quota.updated_at} /> · <Ago at={quota.updated_at} />
          </dd>
        </dl>
      </Panel>
      <Panel title={t('operations.holders')}>
        <Holders holders={quota.holders ?? []} />
      </Panel>
    </div>
  );
}

function Holders({ holders }: { holders: NonNullable<Quota['holders']> }) {
  const t = useT();
  if (holders.length === 0) return <p className={css.faint}>{t('operations.holders_none')}</p>;
  return (
    <>
      <ul className={css.holders}>
        {holders.map(({ execution_id: id, since }) => (
          <li key={id}>
            <Link href={`/runs/${id}`}>
              <Id id={id} />
            </Link>
            <span className={css.faint}>
              <Duration from={since} to={null} />
            </span>
          </li>
        ))}
      </ul>
      {holders.length >= 100 && <p className={css.faint}>{t('operations.holders_some')}</p>}
    </>
  );
}
