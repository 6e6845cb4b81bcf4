import { useQuery } from '@tanstack/react-query';
import type { Execution } from '../../api/model';
import { queries, useLiveQueries } from '../../api/queries';
import { go, Link } from '../../frame/navigate';
import { type Translate, useT } from '../../messages';
import { Empty } from '../../ui/Empty';
import { Id } from '../../ui/Id';
import { Loaded } from '../../ui/Loaded';
import { Status } from '../../ui/Status';
import { type Column, Table } from '../../ui/Table';
import { Ago, Duration } from '../../ui/Time';
import css from './Schemas.module.css';

const columns = (t: Translate): Column<Execution>[] => [
  { id: 'status', head: t('schemas.status'), width: '160px', cell: (run) => <Status status={run.status} /> },
  {
    id: 'id',
    head: t('schemas.run'),
    width: '104px',
    cell: (run) => (
      <Link href={`/runs/${run.id}`}>
        <Id id={run.id} />
      </Link>
    ),
  },
  { id: 'version', head: t('schemas.version'), width: '72px', cell: (run) => `v${run.version}` },
  {
    id: 'now',
    head: t('schemas.now'),
    width: 'minmax(120px, 1fr)',
    cell: (run) => (run.error ? <code>{run.error.code}</code> : run.current_node_id),
  },
  { id: 'created', head: t('schemas.created'), width: '132px', cell: (run) => <Ago at={run.created_at} /> },
  {
    id: 'duration',
    head: t('schemas.duration'),
    width: '104px',
    align: 'end',
    cell: (run) => <Duration from={run.started_at} to={run.finished_at} />,
  },
];

export function RunsTab({ name }: { name: string }) {
  const t = useT();
  const filter = { schema: name, limit: 50, view: 'brief' };
  const runs = useQuery(queries.runs(filter));
  useLiveQueries(['executions'], [['runs', filter]]);
  return (
    <Loaded query={runs}>
      {({ items, next }) =>
        items.length === 0 ? (
          <Empty title={t('schemas.no_runs_yet')} />
        ) : (
          <Table
            label={t('schemas.tab_runs')}
            columns={columns(t)}
            rows={items}
            rowKey={(run) => run.id}
            onOpen={(run) => go(`/runs/${run.id}`)}
            foot={
              next ? (
                <p className={css.pad}>
                  <Link href={`/runs?schema=${encodeURIComponent(name)}`}>{t('schemas.all_runs')}</Link>
                </p>
              ) : undefined
            }
          />
        )
      }
    </Loaded>
  );
}
