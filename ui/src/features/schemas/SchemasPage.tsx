import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { FileUp, Plus } from 'lucide-react';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useLiveQueries } from '../../api/queries';
import { useCommands } from '../../frame/commands';
import { go, useSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Button } from '../../ui/Button';
import { Chip } from '../../ui/Chip';
import { Empty } from '../../ui/Empty';
import { Input } from '../../ui/Field';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Table } from '../../ui/Table';
import { schemaColumns } from './columns';
import { ImportDialog } from './ImportDialog';
import { listSchemas } from './model';
import css from './Schemas.module.css';
import { schemasSearch } from './search';

export default function SchemasPage() {
  const t = useT();
  const { reason } = useRole();
  const [importing, setImporting] = useState<string | null>(null);
  const fresh = () => go('/new/schema');
  useCommands([
    { id: 'schemas.new', name: t('schemas.new'), group: 'page', keys: 'Shift+N', disabledReason: reason('editor'), act: fresh },
    {
      id: 'schemas.import',
      name: t('schemas.import'),
      group: 'page',
      keys: 'Shift+I',
      disabledReason: reason('editor'),
      act: () => setImporting(''),
    },
  ]);
  return (
    <Page
      title={t('schemas.title')}
      actions={
        <>
          <Button icon={<FileUp />} disabledReason={reason('editor')} onClick={() => setImporting('')}>
            {t('schemas.import')}
          </Button>
          <Button kind="primary" icon={<Plus />} disabledReason={reason('editor')} onClick={fresh}>
            {t('schemas.new')}
          </Button>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping a file is one more way to the import */}
      <div
        className={css.page}
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          void event.dataTransfer.files[0]?.text().then(setImporting);
        }}
      >
        <SchemaList />
      </div>
      {importing !== null && <ImportDialog text={importing} onClose={() => setImporting(null)} />}
    </Page>
  );
}

function SchemaList() {
  const t = useT();
  const [search, set] = useSearch(schemasSearch);
  const [text, setText] = useState(search.q);
  const [current, setCurrent] = useState(-1);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const timer = setTimeout(() => text !== search.q && set({ q: text }, { replace: true }), 250);
    return () => clearTimeout(timer);
  }, [text, search.q, set]);
  useCommands([{ id: 'schemas.filter', name: t('common.filter'), group: 'page', keys: '/', act: () => field.current?.focus() }]);
  useLiveQueries(['schemas', 'executions'], [['schemas']]);
  const query = useInfiniteQuery({
    queryKey: ['schemas', 'list', search.q],
    queryFn: ({ signal, pageParam }) => listSchemas(search.q, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
    placeholderData: keepPreviousData,
  });
  const all = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const rows = useMemo(
    () => all.filter((schema) => search.state === undefined || schema.active === (search.state === 'active')),
    [all, search.state],
  );
  const columns = useMemo(() => schemaColumns(t), [t]);
  const clear = () => {
    setText('');
    set({ q: '', state: undefined });
  };
  const toggle = (state: 'active' | 'inactive') => set({ state: search.state === state ? undefined : state });
  return (
    <>
      <div className={css.filters}>
        <Input
          ref={field}
          className={css.search}
          aria-label={t('schemas.search')}
          placeholder={t('schemas.search')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {(['active', 'inactive'] as const).map((state) => (
          <Chip key={state} on={search.state === state} onToggle={() => toggle(state)}>
            {t(`schemas.${state}`)}
          </Chip>
        ))}
      </div>
      {query.error && <Problem error={query.error} onRetry={() => void query.refetch()} />}
      {query.isPending && !query.error && <Skeleton />}
      {query.isSuccess && rows.length === 0 && <Nothing filtered={search.q !== '' || search.state !== undefined} onClear={clear} />}
      {rows.length > 0 && (
        <Table
          label={t('schemas.title')}
          columns={columns}
          rows={rows}
          rowKey={(row) => row.id}
          rowHeight={44}
          current={current}
          onCurrent={setCurrent}
          onOpen={(row) => go(`/schemas/${encodeURIComponent(row.name)}`)}
          onEnd={() => query.hasNextPage && !query.isFetchingNextPage && void query.fetchNextPage()}
        />
      )}
    </>
  );
}

function Nothing({ filtered, onClear }: { filtered: boolean; onClear: () => void }) {
  const t = useT();
  if (filtered) return <Empty title={t('schemas.none_fit')} action={<Button onClick={onClear}>{t('common.clear_filters')}</Button>} />;
  return <Empty title={t('schemas.none')}>{t('schemas.none_about')}</Empty>;
}
