import { useQuery } from '@tanstack/react-query';
import { BellRing } from 'lucide-react';
import { useMemo } from 'react';
import { write } from '../../api/json';
import { useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { type Column, Table } from '../../ui/Table';
import { Time } from '../../ui/Time';
import { ValueActions } from '../../ui/Value';
import { runQueries, type Signal } from './api';
import { useFile, useRun } from './context';
import css from './Drawer.module.css';

/** Events from outside, in the order of arrival, and which step took each. */
export function Signals() {
  const t = useT();
  const { run, goTo } = useRun();
  const ofRun = useFile().join('-');
  const file = useMemo(() => [ofRun], [ofRun]);
  const signals = useQuery(runQueries.signals(run.id));
  const columns = useMemo(
    (): Column<Signal>[] => [
      { id: 'name', head: t('run.event_name'), width: '180px', cell: (signal) => <code>{signal.name}</code> },
      {
        id: 'payload',
        head: t('run.payload'),
        width: 'minmax(160px, 1fr)',
        cell: (signal) => <code className={css.soft}>{write(signal.payload).slice(0, 400)}</code>,
      },
      {
        id: 'take',
        head: '',
        width: '110px',
        align: 'end',
        cell: (signal) =>
          signal.payload !== null && <ValueActions name={signal.name} value={signal.payload} file={[...file, signal.name]} />,
      },
      { id: 'at', head: t('run.when'), width: '120px', cell: (signal) => <Time at={signal.received_at} /> },
      {
        id: 'taken',
        head: t('run.taken_by'),
        width: '130px',
        align: 'end',
        cell: (signal) => (signal.consumed_by === null ? t('run.not_taken') : t('run.step_number', { n: signal.consumed_by })),
      },
    ],
    [t, file],
  );
  if (signals.error) return <Problem error={signals.error} onRetry={() => void signals.refetch()} compact />;
  if (signals.data === undefined) return <Skeleton rows={3} height={26} />;
  if (signals.data.items.length === 0) return <Empty icon={<BellRing />} title={t('run.no_events')} />;
  return (
    <Table
      label={t('run.low_events')}
      columns={columns}
      rows={signals.data.items}
      rowKey={(signal) => signal.id}
      rowHeight={26}
      onOpen={(signal) => signal.consumed_by !== null && goTo(signal.consumed_by)}
    />
  );
}
