import { useInfiniteQuery } from '@tanstack/react-query';
import { ScrollText } from 'lucide-react';
import { useMemo, useState } from 'react';
import { useT } from '../../messages';
import { Chip, type Tone } from '../../ui/Chip';
import { Empty } from '../../ui/Empty';
import { Select } from '../../ui/Field';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { type Column, Table } from '../../ui/Table';
import { Time } from '../../ui/Time';
import { type LogLine, runQueries } from './api';
import { useRun } from './context';
import css from './Drawer.module.css';
import { useMoment } from './moment';

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;
const TONES: Record<string, Tone> = { debug: 'idle', info: 'info', warn: 'warn', error: 'bad' };

/** What log nodes wrote, newest first; lines after the moment are receded. */
export function LogList({ node }: { node: string }) {
  const t = useT();
  const { run, moment, goTo } = useRun();
  const [level, setLevel] = useState<string>('debug');
  const seq = useMoment(moment, (state) => state.seq);
  const logs = useInfiniteQuery(runQueries.logs(run.id, level === 'debug' ? '' : level, node));
  const rows = useMemo(() => logs.data?.pages.flatMap((page) => page.items) ?? [], [logs.data]);
  const columns = useMemo(
    (): Column<LogLine>[] => [
      { id: 'level', head: t('run.level'), width: '72px', cell: (line) => <Chip tone={TONES[line.level]}>{line.level}</Chip> },
      {
        id: 'message',
        head: t('run.message'),
        width: 'minmax(120px, 1fr)',
        cell: (line) => <span title={line.message}>{line.message}</span>,
      },
      ...(node === ''
        ? [{ id: 'node', head: t('run.node'), width: '140px', cell: (line: LogLine) => <span className={css.soft}>{line.node_id}</span> }]
        : []),
      { id: 'seq', head: '#', width: '56px', align: 'end', cell: (line) => <span className={css.soft}>{line.seq}</span> },
      {
        id: 'at',
        head: t('run.when'),
        width: '96px',
        align: 'end',
        cell: (line) => (
          <span className={css.soft}>
            <Time at={line.at} style="time" />
          </span>
        ),
      },
    ],
    [t, node],
  );
  return (
    <div className={css.column}>
      <div className={css.filters}>
        <Select
          aria-label={t('run.level')}
          value={level}
          onValue={setLevel}
          choices={LEVELS.map((one) => ({ value: one, name: t(`run.level_${one}`) }))}
        />
        {node !== '' && <span className={css.count}>{t('run.logs_of', { node })}</span>}
      </div>
      <div className={css.fill}>
        {logs.error ? (
          <Problem error={logs.error} onRetry={() => void logs.refetch()} compact />
        ) : logs.data === undefined ? (
          <Skeleton rows={4} height={26} />
        ) : rows.length === 0 ? (
          <Empty icon={<ScrollText />} title={t(level === 'debug' ? 'run.no_logs' : 'run.no_logs_of_level')} />
        ) : (
          <Table
            label={t('run.tab_logs')}
            columns={columns}
            rows={rows}
            rowKey={(line) => line.id}
            rowHeight={26}
            onOpen={(line) => goTo(line.seq)}
            rowClass={(line) => (line.seq > seq ? css.later : undefined)}
            onEnd={() => {
              if (logs.hasNextPage && !logs.isFetchingNextPage) void logs.fetchNextPage();
            }}
          />
        )}
      </div>
    </div>
  );
}
