import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { api, path } from '../../../api/client';
import { asApiError } from '../../../api/error';
import type { Schema } from '../../../api/model';
import { go } from '../../../frame/navigate';
import { useT } from '../../../messages';
import { refusalSaid } from '../../../messages/said';
import { toast } from '../../../ui/toasts';
import { useEditor, useTools } from '../model/context';
import { drafts } from '../model/drafts';
import { isDirty } from '../model/store';
import { ConflictDialog } from '../save/ConflictDialog';
import { SaveDialog } from '../save/SaveDialog';
import { type SavedAnswer, settle } from '../save/save';

/** Ctrl S: only places that moved are stored at once; a change of the text asks first. */
interface Saves {
  start: () => void;
  reason: string | false;
  /** A stored version that can be taken into use; null: nothing but saving is to be done. Ctrl S never makes a version live. */
  unused: number | null;
  use: (version: number) => void;
  dialogs: ReactNode;
}

export function useSaving(tellSaved: (version: number) => void): Saves {
  const t = useT();
  const client = useQueryClient();
  const { store, stored } = useTools();
  const [open, setOpen] = useState<'save' | 'conflict' | null>(null);
  const dirty = useEditor(isDirty);
  const broken = useEditor((state) => state.problem !== null);
  const unused = useUnused(stored, dirty);
  const reason = broken ? t('editor.fix_text_first') : !dirty && unused === null && t('editor.nothing_to_save');
  const failed = (thrown: unknown) => toast({ tone: 'bad', text: refusalSaid(asApiError(thrown), t) });
  const saved = async (answer: SavedAnswer, text: string) => {
    setOpen(null);
    try {
      await settle(store, answer.name, text, answer.latest_version);
    } catch (thrown) {
      store.getState().rebase({ ...store.getState().saved, text, version: answer.latest_version });
      failed(thrown);
    }
    toast({ tone: 'good', text: t('editor.saved_now', { version: answer.latest_version }) });
    tellSaved(answer.latest_version);
    void client.invalidateQueries({ queryKey: ['schemas'] });
    void client.invalidateQueries({ queryKey: ['schema', answer.name] });
    if (stored === null) {
      await drafts.remove('new').catch(() => undefined);
      go(`/schemas/${encodeURIComponent(answer.name)}/edit`, { replace: true });
    }
  };
  const use = async (version: number) => {
    try {
      await api.post(path('/api/schemas', stored ?? '', 'publish'), { version });
      toast({ tone: 'good', text: t('editor.in_use', { version }) });
    } catch (thrown) {
      failed(thrown);
    }
    void client.invalidateQueries({ queryKey: ['schemas'] });
    void client.invalidateQueries({ queryKey: ['schema', stored] });
  };
  const start = () => {
    const state = store.getState();
    if (state.readOnly || state.problem !== null || !isDirty(state)) return;
    if (state.text !== state.saved.text || stored === null) return setOpen('save');
    settle(store, stored, state.text, state.saved.version ?? 0)
      .then(() => toast({ tone: 'good', text: t('editor.layout_saved') }))
      .catch(failed);
  };
  const dialogs = (
    <>
      {open === 'save' && (
        <SaveDialog
          onSaved={(answer, text) => void saved(answer, text)}
          onConflict={() => setOpen('conflict')}
          onClose={() => setOpen(null)}
        />
      )}
      {open === 'conflict' && <ConflictDialog onClose={() => setOpen(null)} onMerged={() => setOpen('save')} />}
    </>
  );
  return { start, reason, unused, use, dialogs };
}

/** What a test run stored, or a save that was not to be used: no trigger starts it yet. */
function useUnused(stored: string | null, dirty: boolean): number | null {
  const version = useEditor((state) => state.saved.version);
  const { data } = useQuery({
    queryKey: ['schema', stored, 'used', version],
    queryFn: ({ signal }) => api.get<Schema>(path('/api/schemas', stored ?? ''), {}, signal),
    enabled: stored !== null && version !== null,
  });
  if (dirty || data === undefined || data.latest_version !== version) return null;
  return (data.published_version ?? version) === version ? null : version;
}
