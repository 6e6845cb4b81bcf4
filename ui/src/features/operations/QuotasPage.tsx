import { Gauge, Plus } from 'lucide-react';
import { useState } from 'react';
import { usePages } from '../../api/pages';
import { useLiveQueries } from '../../api/queries';
import { useCommands } from '../../frame/commands';
import { go, Link } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { type Translate, useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { Empty } from '../../ui/Empty';
import { formatNumber } from '../../ui/format';
import { Listing } from '../../ui/Listing';
import { Page } from '../../ui/Page';
import { type Column, Table } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { Bar } from './Bar';
import css from './Operations.module.css';
import { type Quota, quotaPage, waitingRuns } from './quotas';
import { SetQuota } from './SetQuota';

export default function QuotasPage() {
  const t = useT();
  const { reason } = useRole();
  const [adding, setAdding] = useState(false);
  const [current, setCurrent] = useState(-1);
  const pages = usePages<Quota>(['quotas'], '/api/quotas', { limit: 200 });
  useLiveQueries(['executions'], [['quotas']]);
  const why = reason('editor');
  const add = () => setAdding(true);
  useCommands([
    { id: 'quota.set', name: t('operations.set_quota'), group: 'page', keys: 'Shift+N', icon: <Plus />, disabledReason: why, act: add },
  ]);
  const button = (
    <Button kind="primary" icon={<Plus />} disabledReason={why} onClick={add}>
      {t('operations.set_quota')}
    </Button>
  );
  return (
    <Page title={t('frame.nav_quotas')} actions={button}>
      <Listing
        pages={pages}
        empty={
          <Empty icon={<Gauge />} title={t('operations.no_quotas')} action={button}>
            {t('operations.no_quotas_text')}
          </Empty>
        }
      >
        {(rows) => (
          <Table
            label={t('frame.nav_quotas')}
            columns={columns(t)}
            rows={rows}
            rowKey={(quota) => `${quota.kind}:${quota.name}`}
            current={current}
            onCurrent={setCurrent}
            onOpen={(quota) => go(quotaPage(quota))}
            onEnd={pages.onEnd}
            foot={t('operations.quotas_count', { n: rows.length })}
          />
        )}
      </Listing>
      {adding && <SetQuota onClose={() => setAdding(false)} />}
    </Page>
  );
}

function columns(t: Translate): Column<Quota>[] {
  return [
    {
      id: 'name',
      head: t('operations.quota'),
      width: 'minmax(200px, 2fr)',
      cell: (quota) => (
        <span className={css.chips}>
          <Chip>{t(`operations.kind_${quota.kind}`)}</Chip>
          <Link href={quotaPage(quota)}>{quota.name}</Link>
        </span>
      ),
    },
    {
      id: 'used',
      head: t('operations.used'),
      width: 'minmax(180px, 1.2fr)',
      cell: (quota) => (
        <Bar
          used={quota.used}
          of={quota.limit}
          text={`${formatNumber(quota.used)} / ${quota.limit === null ? '∞' : formatNumber(quota.limit)}`}
        />
      ),
    },
    {
      id: 'waiting',
      head: t('operations.waiting'),
      width: '100px',
      align: 'end',
      cell: (quota) => (quota.waiting > 0 ? <Link href={waitingRuns(quota)}>{formatNumber(quota.waiting)}</Link> : '0'),
    },
    { id: 'rate', head: t('operations.rate'), width: '150px', align: 'end', cell: (quota) => quota.rate ?? '' },
    { id: 'source', head: t('operations.source'), width: '150px', cell: (quota) => t(`operations.source_${quota.source}`) },
    { id: 'updated', head: t('operations.updated'), width: '130px', align: 'end', cell: (quota) => <Ago at={quota.updated_at} /> },
  ];
}
