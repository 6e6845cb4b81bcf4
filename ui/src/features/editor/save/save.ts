/** Storing: the text as a version, the places as the layout. Never without saying which version was seen. */
import { call, path } from '../../../api/client';
import { asApiError } from '../../../api/error';
import type { Schema } from '../../../api/model';
import { SchemaText, writeDefinition } from '../../../graph/document';
import { type EditorStore, layoutChanged, type SavedState } from '../model/store';
import { type CanvasLayout, type Diagnostic, NO_LAYOUT } from '../model/wire';

export interface SavedAnswer extends Schema {
  warnings: Diagnostic[];
}

const typeOf = (text: string) => (text.trimStart().startsWith('{') ? ('application/json' as const) : ('application/yaml' as const));

export interface Saving {
  stored: string | null;
  text: string;
  version: number | null;
  note: string;
  publish: boolean;
}

export async function saveText({ stored, text, version, note, publish }: Saving): Promise<SavedAnswer> {
  const content = { type: typeOf(text), content: text };
  const query = { note: note === '' ? undefined : note, publish: publish ? undefined : false };
  if (stored === null) return (await call<SavedAnswer>('POST', '/api/schemas', { text: content, query: { note: query.note } })).data;
  return (await call<SavedAnswer>('PUT', path('/api/schemas', stored), { text: content, query, ifMatch: version ?? undefined })).data;
}

export async function readLayout(name: string, signal?: AbortSignal): Promise<{ layout: CanvasLayout; revision: string | null }> {
  const { data, etag } = await call<CanvasLayout>('GET', path('/api/schemas', name, 'layout'), { signal });
  return { layout: { positions: data.positions ?? {}, notes: data.notes ?? [], groups: data.groups ?? [] }, revision: etag };
}

/** Places belong to no person: where two people moved cards, the later one wins. */
export async function saveLayout(name: string, layout: CanvasLayout, revision: string | null): Promise<string | null> {
  const where = path('/api/schemas', name, 'layout');
  try {
    return (await call('PUT', where, { body: layout, ifMatch: revision ?? '*' })).etag;
  } catch (thrown) {
    if (asApiError(thrown).status !== 412) throw thrown;
    return (await call('PUT', where, { body: layout, ifMatch: '*' })).etag;
  }
}

/** Stores the layout if it has changed, and makes what is stored the new base. */
export async function settle(store: EditorStore, name: string, text: string, version: number): Promise<void> {
  const state = store.getState();
  let revision = state.saved.layoutRevision;
  if (layoutChanged(state) || (state.saved.version === null && Object.keys(state.layout.positions).length > 0))
    revision = await saveLayout(name, state.layout, revision);
  store.getState().rebase({ text, layout: state.layout, version, layoutRevision: revision });
}

/** The text of a stored version: as it was written, or made of its definition. */
export function textOf(schema: Schema): string {
  return schema.source ?? writeDefinition((schema.definition ?? { name: schema.name, nodes: [] }) as unknown as Record<string, unknown>);
}

export const EMPTY_TEXT = `name: my-workflow

nodes:
  - { id: start, type: start }

  - { id: done, type: end }

edges:
  - { source: start, target: done }
`;

export function documentOf(text: string): { document: SchemaText; text: string } {
  const reading = SchemaText.read(text);
  if (reading.ok) return { document: reading.document, text };
  // The last text that can be read is the empty one; what was written stays in the code.
  const empty = SchemaText.read(EMPTY_TEXT);
  if (!empty.ok) throw new Error(empty.problem.message);
  return { document: empty.document, text };
}

export function savedOf(schema: Schema | null, layout: CanvasLayout, revision: string | null): SavedState {
  if (schema === null) return { text: '', layout: NO_LAYOUT, version: null, layoutRevision: null };
  return { text: textOf(schema), layout, version: schema.latest_version, layoutRevision: revision };
}
