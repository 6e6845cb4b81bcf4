import { useQuery } from '@tanstack/react-query';
import { Ellipsis, PencilLine, Play } from 'lucide-react';
import { useEffect, useMemo } from 'react';
import { call } from '../../api/client';
import type { Schema } from '../../api/model';
import { queries, useLiveQueries } from '../../api/queries';
import { Canvas } from '../../canvas/Canvas';
import { Looks, PLAIN_NODE } from '../../canvas/looks';
import { useLayout } from '../../canvas/useLayout';
import { copyItems } from '../../frame/CopyAs';
import { useCommands } from '../../frame/commands';
import { go, Link, useParam, useSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { buildGraph } from '../../graph/model';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { formatNumber } from '../../ui/format';
import { Loaded } from '../../ui/Loaded';
import { Menu } from '../../ui/Menu';
import { Page } from '../../ui/Page';
import { Tabs } from '../../ui/Tabs';
import { openByNode, schemaPath, startLines } from './model';
import { RunsTab } from './RunsTab';
import css from './Schemas.module.css';
import { SettingsTab } from './SettingsTab';
import { schemaSearch } from './search';
import { TriggersTab } from './TriggersTab';
import { VersionsTab } from './VersionsTab';

export default function SchemaPage() {
  const name = useParam('name');
  const schema = useQuery(queries.schema(name));
  useLiveQueries(['schemas'], [['schema', name, 'latest']]);
  const t = useT();
  const { reason } = useRole();
  const edit = `/schemas/${encodeURIComponent(name)}/edit`;
  const start = `/runs?schema=${encodeURIComponent(name)}&start=1`;
  useCommands([
    { id: 'schema.edit', name: t('schemas.edit'), group: 'page', keys: 'e', act: () => go(edit) },
    {
      id: 'schema.start',
      name: t('schemas.start'),
      group: 'page',
      keys: 'Shift+N',
      disabledReason: reason('operator'),
      act: () => go(start),
    },
  ]);
  return (
    <Page
      title={name}
      crumbs={<Link href="/schemas">{t('schemas.title')}</Link>}
      head={schema.data && <Head schema={schema.data} />}
      actions={
        <>
          <Menu label={t('common.more')} items={copyItems(t, startLines(name))}>
            <IconButton name={t('common.more')} icon={<Ellipsis />} />
          </Menu>
          <Button
            icon={<Play />}
            disabledReason={reason('operator') ?? (schema.data?.active === false && t('schemas.is_inactive'))}
            onClick={() => go(start)}
          >
            {t('schemas.start')}
          </Button>
          <Button kind="primary" icon={<PencilLine />} onClick={() => go(edit)}>
            {t('schemas.edit')}
          </Button>
        </>
      }
    >
      <Loaded query={schema}>{(data) => <One schema={data} />}</Loaded>
    </Page>
  );
}

function Head({ schema }: { schema: Schema }) {
  const t = useT();
  const published = schema.published_version ?? schema.latest_version;
  return (
    <>
      <Chip tone={schema.active ? 'good' : 'idle'}>{t(schema.active ? 'schemas.active_one' : 'schemas.inactive_one')}</Chip>
      <span className={css.faint}>
        v{published}
        {published !== schema.latest_version && ` · ${t('schemas.newer_draft', { version: schema.latest_version })}`}
      </span>
      {schema.description && <span className={css.faint}>{schema.description}</span>}
    </>
  );
}

function One({ schema }: { schema: Schema }) {
  const t = useT();
  const [search, set] = useSearch(schemaSearch);
  const tabs = (['runs', 'triggers', 'versions', 'settings'] as const).map((id) => ({
    id,
    name: t(`schemas.tab_${id}`),
    ...(id === 'triggers' ? { count: schema.definition?.triggers?.length ?? 0 } : {}),
  }));
  return (
    <div className={css.one}>
      <Picture schema={schema} />
      <div className={css.tabs}>
        <Tabs tabs={tabs} value={search.tab} onChange={(tab) => set({ tab })} label={schema.name} className={css.panel}>
          {search.tab === 'runs' && <RunsTab name={schema.name} />}
          {search.tab === 'triggers' && <TriggersTab schema={schema} />}
          {search.tab === 'versions' && <VersionsTab schema={schema} />}
          {search.tab === 'settings' && <SettingsTab schema={schema} />}
        </Tabs>
      </div>
    </div>
  );
}

/** The canvas to read, with how many open runs stand at each node. */
function Picture({ schema }: { schema: Schema }) {
  const t = useT();
  const graph = useMemo(() => buildGraph(schema.definition ?? { nodes: [] }), [schema.definition]);
  const places = useQuery({
    queryKey: ['layout', schema.name],
    queryFn: async ({ signal }) =>
      (await call<{ positions: Record<string, { x: number; y: number }> }>('GET', schemaPath(schema.name, 'layout'), { signal })).data,
    retry: false,
  });
  const counts = useQuery({
    queryKey: ['counts', 'node', schema.name],
    queryFn: ({ signal }) => openByNode(schema.name, signal),
    retry: false,
  });
  useLiveQueries(['executions'], [['counts', 'node', schema.name]]);
  const layout = useLayout(graph, places.data?.positions);
  const looks = useMemo(() => looksOf(graph), [graph]);
  useEffect(() => {
    const open = new Map(counts.data?.groups.map((group) => [group.key, group]));
    for (const node of graph.nodes) {
      const group = open.get(node.id);
      looks.setNode(node.index, {
        ...PLAIN_NODE,
        badge: group === undefined ? '' : `${formatNumber(group.count)}${group.capped ? '+' : ''}`,
      });
    }
  }, [graph, looks, counts.data]);
  if (layout === null || places.isPending) return <div className={css.picture} />;
  return (
    <div className={css.picture}>
      <Canvas
        graph={graph}
        layout={layout}
        looks={looks}
        label={t('schemas.picture', { name: schema.name })}
        onOpen={(id) => go(`/schemas/${encodeURIComponent(schema.name)}/edit?node=${encodeURIComponent(id)}`)}
      />
    </div>
  );
}

/** Another graph, other looks: they go by place. */
function looksOf(_graph: ReturnType<typeof buildGraph>): Looks {
  return new Looks();
}
