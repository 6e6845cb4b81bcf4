import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { api } from '../../api/client';
import type { Schema } from '../../api/model';
import { go, Link } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { Loaded } from '../../ui/Loaded';
import { Problem } from '../../ui/Problem';
import { type Column, Table } from '../../ui/Table';
import { Ago } from '../../ui/Time';
import { readVersions, type SchemaVersion, schemaPath } from './model';
import css from './Schemas.module.css';

export function VersionsTab({ schema }: { schema: Schema }) {
  const t = useT();
  const client = useQueryClient();
  const { reason } = useRole();
  const versions = useQuery({
    queryKey: ['schema', schema.name, 'versions', schema.latest_version],
    queryFn: ({ signal }) => readVersions(schema.name, signal),
  });
  const publish = useMutation({
    mutationFn: (version: number) => api.post<Schema>(schemaPath(schema.name, 'publish'), { version }),
    onSuccess: () =>
      Promise.all([client.invalidateQueries({ queryKey: ['schema', schema.name] }), client.invalidateQueries({ queryKey: ['schemas'] })]),
  });
  const current = schema.published_version ?? schema.latest_version;
  const address = `/schemas/${encodeURIComponent(schema.name)}`;
  const before = (row: SchemaVersion) => `${address}/diff?a=${Math.max(1, row.version - 1)}&b=${row.version}`;
  const columns: Column<SchemaVersion>[] = [
    { id: 'version', head: t('schemas.version'), width: '64px', cell: (row) => `v${row.version}` },
    {
      id: 'published',
      head: t('schemas.state'),
      width: '128px',
      cell: (row) =>
        row.version === current ? (
          <Chip tone="good">{t('schemas.in_use')}</Chip>
        ) : row.version > current ? (
          <Chip tone="info">{t('schemas.draft')}</Chip>
        ) : null,
    },
    { id: 'note', head: t('schemas.note'), width: 'minmax(120px, 1fr)', cell: (row) => row.note ?? '' },
    { id: 'by', head: t('schemas.by'), width: '120px', cell: (row) => row.created_by },
    { id: 'at', head: t('schemas.created'), width: '120px', cell: (row) => <Ago at={row.created_at} /> },
    { id: 'hash', head: t('schemas.hash'), width: '96px', cell: (row) => <code>{row.hash.slice(0, 8)}</code> },
    {
      id: 'acts',
      head: '',
      width: '300px',
      cell: (row) => (
        <span className={css.row}>
          {row.version > 1 && <Link href={before(row)}>{t('schemas.compare')}</Link>}
          <Link href={`${address}/edit?from=${row.version}`}>{t('schemas.open_in_editor')}</Link>
          {row.version !== current && (
            <Button
              size="small"
              kind="quiet"
              disabledReason={reason('editor')}
              busy={publish.isPending && publish.variables === row.version}
              onClick={() => publish.mutate(row.version)}
            >
              {t('schemas.publish')}
            </Button>
          )}
        </span>
      ),
    },
  ];
  return (
    <>
      {publish.error && <Problem error={publish.error} />}
      <Loaded query={versions}>
        {({ items }) => (
          <Table
            label={t('schemas.tab_versions')}
            columns={columns}
            rows={items}
            rowKey={(row) => row.version}
            rowHeight={36}
            onOpen={(row) => row.version > 1 && go(before(row))}
          />
        )}
      </Loaded>
    </>
  );
}
