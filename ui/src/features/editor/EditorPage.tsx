import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useState } from 'react';
import { api, path } from '../../api/client';
import { asApiError } from '../../api/error';
import type { Page as ListPage, NodeType, Schema } from '../../api/model';
import { useParam, useSearch } from '../../frame/navigate';
import { useRole } from '../../frame/session';
import { useT } from '../../messages';
import { Page } from '../../ui/Page';
import { Problem } from '../../ui/Problem';
import { Skeleton } from '../../ui/Skeleton';
import { EditorContext, type EditorTools } from './model/context';
import { type Draft, drafts } from './model/drafts';
import { modesOf } from './model/fields';
import { createEditor } from './model/store';
import { type CanvasLayout, type ExpressionFunction, NO_LAYOUT } from './model/wire';
import { DraftBanner } from './panels/Banners';
import { Workbench } from './panels/Workbench';
import { documentOf, EMPTY_TEXT, readLayout, savedOf, textOf } from './save/save';
import { editorSearch } from './search';

interface Opening {
  schema: Schema | null;
  /** Another version whose text is put on the screen. */
  from: Schema | null;
  layout: CanvasLayout;
  revision: string | null;
  types: NodeType[];
  functions: ExpressionFunction[];
  draft: Draft | null;
  /** A text that another screen handed over. */
  handed: string | null;
}

/** Where *Import* of the list of schemas puts its text. */
const HANDED = 'pawl.import';

async function open(name: string, from: number | undefined, signal: AbortSignal): Promise<Opening> {
  const stored = name !== '';
  const [schema, other, layout, types, functions, draft] = await Promise.all([
    stored ? api.get<Schema>(path('/api/schemas', name), undefined, signal) : null,
    stored && from !== undefined ? api.get<Schema>(path('/api/schemas', name), { version: from }, signal) : null,
    stored ? readLayout(name, signal).catch(missing) : { layout: NO_LAYOUT, revision: null },
    api.get<ListPage<NodeType>>('/api/node-types', undefined, signal),
    api
      .get<{ items: ExpressionFunction[] }>('/api/expressions/functions', undefined, signal)
      .catch((thrown: unknown) => ifMissing(thrown, { items: [] })),
    drafts.read(stored ? name : 'new').catch(() => undefined),
  ]);
  const handed = stored ? null : sessionStorage.getItem(HANDED);
  if (handed !== null) sessionStorage.removeItem(HANDED);
  return {
    schema,
    from: other,
    layout: layout.layout,
    revision: layout.revision,
    types: types.items,
    functions: functions.items,
    draft: draft ?? null,
    handed,
  };
}

/** A server without this call: the editor works without it. Anything else is an error. */
function ifMissing<T>(thrown: unknown, otherwise: T): T {
  if (asApiError(thrown).status === 404) return otherwise;
  throw thrown;
}
const missing = (thrown: unknown) =>
  ifMissing<{ layout: CanvasLayout; revision: string | null }>(thrown, { layout: NO_LAYOUT, revision: null });

export default function EditorPage() {
  const t = useT();
  const name = useParam('name');
  const [search] = useSearch(editorSearch);
  const [from] = useState(search.from);
  const opening = useQuery({
    queryKey: ['editor', name, from ?? 0],
    queryFn: ({ signal }) => open(name, from, signal),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
  if (opening.data) return <OpenEditor key={name} name={name} opening={opening.data} />;
  return (
    <Page title={name || t('editor.new_schema')}>
      {opening.error ? <Problem error={opening.error} onRetry={() => void opening.refetch()} /> : <Skeleton />}
    </Page>
  );
}

function OpenEditor({ name, opening }: { name: string; opening: Opening }) {
  const [search, setSearch] = useSearch(editorSearch);
  const { role, can } = useRole();
  const stored = name === '' ? null : name;
  const draftKey = stored ?? 'new';
  const [draft, setDraft] = useState(() => (isWorth(opening) ? opening.draft : null));
  const tools = useMemo((): EditorTools => {
    const types = new Map(opening.types.map((type) => [type.type, type]));
    const text = opening.handed ?? (opening.from ? textOf(opening.from) : opening.schema ? textOf(opening.schema) : EMPTY_TEXT);
    const saved = savedOf(opening.schema, opening.layout, opening.revision);
    const store = createEditor(documentOf(opening.schema ? saved.text : text).document, saved);
    if (store.getState().text !== text) store.getState().setText(text);
    return { store, types, modeOf: modesOf(types), functions: opening.functions, stored };
  }, [opening, stored]);
  const editable = can('editor');
  useEffect(() => tools.store.getState().set({ readOnly: role !== undefined && !editable }), [tools, role, editable]);
  const use = () => {
    if (draft !== null) tools.store.getState().replace(draft.text, draft.layout);
    setDraft(null);
  };
  const drop = () => {
    void drafts.remove(draftKey).catch(() => undefined);
    setDraft(null);
  };
  return (
    <EditorContext.Provider value={tools}>
      <Workbench
        draftKey={draftKey}
        mode={search.mode}
        onMode={(mode) => setSearch({ mode }, { replace: true })}
        view={search.view}
        onView={(view) => setSearch({ view }, { replace: true })}
        node={search.node}
        onNode={(node) => setSearch({ node }, { replace: true })}
        data={search.data}
        onData={(data) => setSearch({ data }, { replace: true })}
        banner={draft && <DraftBanner draft={draft} onUse={use} onDrop={drop} />}
      />
    </EditorContext.Provider>
  );
}

/** A draft that says something else than what is stored. */
function isWorth({ draft, schema, layout, handed }: Opening): boolean {
  if (draft === null || handed !== null) return false;
  if (schema === null) return draft.text !== EMPTY_TEXT;
  return draft.text !== textOf(schema) || JSON.stringify(draft.layout) !== JSON.stringify(layout);
}
