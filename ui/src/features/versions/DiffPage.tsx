import { useQuery } from '@tanstack/react-query';
import { ArrowLeftRight, PencilLine } from 'lucide-react';
import { useMemo } from 'react';
import { api, path } from '../../api/client';
import type { Page as ListPage, Schema } from '../../api/model';
import { queries } from '../../api/queries';
import { go, Link, useParam, useSearch } from '../../frame/navigate';
import { SchemaText, writeDefinition } from '../../graph/document';
import { useT } from '../../messages';
import { Button, IconButton } from '../../ui/Button';
import { Select } from '../../ui/Field';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { Picture } from './Picture';
import { diffSearch } from './search';
import { TextDiff } from './TextDiff';
import css from './Versions.module.css';

interface Listed {
  version: number;
  note?: string | null;
}

export const textOf = (schema: Schema) =>
  schema.source ?? writeDefinition((schema.definition ?? { name: schema.name, nodes: [] }) as unknown as Record<string, unknown>);

/** Two versions of a schema: the later one against the one before it, unless the address says others. */
export default function DiffPage() {
  const t = useT();
  const name = useParam('name');
  const [search, set] = useSearch(diffSearch);
  const versions = useQuery({
    queryKey: ['schema', name, 'versions'],
    queryFn: ({ signal }) => api.get<ListPage<Listed>>(path('/api/schemas', name, 'versions'), undefined, signal),
  });
  const latest = versions.data?.items[0]?.version;
  const b = search.b ?? latest;
  const a = search.a ?? (b === undefined ? undefined : Math.max(1, b - 1));
  const left = useQuery({ ...queries.schema(name, a), enabled: a !== undefined });
  const right = useQuery({ ...queries.schema(name, b), enabled: b !== undefined });
  const choices = (versions.data?.items ?? []).map((one) => ({
    value: String(one.version),
    name: `v${one.version}${one.note ? ` · ${one.note}` : ''}`,
  }));
  const error = versions.error ?? left.error ?? right.error;
  const head = (
    <div className={css.choice}>
      <Select aria-label={t('versions.from')} choices={choices} value={String(a ?? '')} onValue={(value) => set({ a: Number(value), b })} />
      <IconButton name={t('versions.swap')} icon={<ArrowLeftRight />} onClick={() => set({ a: b, b: a })} />
      <Select aria-label={t('versions.to')} choices={choices} value={String(b ?? '')} onValue={(value) => set({ a, b: Number(value) })} />
    </div>
  );
  return (
    <Page
      title={t('versions.title')}
      documentTitle={`${name} ${a ?? ''}–${b ?? ''}`}
      crumbs={<Link href={`/schemas/${encodeURIComponent(name)}?tab=versions`}>{name}</Link>}
      head={head}
      actions={
        <>
          <div className={css.views} role="group" aria-label={t('versions.view')}>
            {(['picture', 'text'] as const).map((view) => (
              <button key={view} type="button" aria-pressed={search.view === view} onClick={() => set({ view })}>
                {t(`versions.view_${view}`)}
              </button>
            ))}
          </div>
          <Button icon={<PencilLine />} onClick={() => go(`/schemas/${encodeURIComponent(name)}/edit?from=${b ?? 1}`)}>
            {t('versions.open', { version: b ?? 1 })}
          </Button>
        </>
      }
    >
      {error ? (
        <Problem error={error} onRetry={() => void versions.refetch()} />
      ) : left.data && right.data ? (
        <Both left={left.data} right={right.data} view={search.view} />
      ) : (
        <Skeleton />
      )}
    </Page>
  );
}

function Both({ left, right, view }: { left: Schema; right: Schema; view: 'picture' | 'text' }) {
  const t = useT();
  const [before, after] = useMemo(() => [textOf(left), textOf(right)], [left, right]);
  const definitions = useMemo(() => {
    const [one, other] = [SchemaText.read(before), SchemaText.read(after)];
    return one.ok && other.ok ? { before: one.document.definition, after: other.document.definition } : null;
  }, [before, after]);
  if (view === 'text') return <TextDiff before={before} after={after} json={after.trimStart().startsWith('{')} />;
  if (definitions === null) return <p className={css.none}>{t('versions.unreadable')}</p>;
  return <Picture {...definitions} sameText={before === after} />;
}
