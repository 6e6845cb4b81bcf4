/** Drafts in the browser: what is not saved survives a crash of the tab, of the browser and of the server. */
import { inDrafts as run } from '../../../frame/drafts';
import type { CanvasLayout } from './wire';

export interface Draft {
  /** Name of the stored schema; `new:ID` for one that is not stored. */
  key: string;
  text: string;
  layout: CanvasLayout;
  version: number | null;
  at: number;
}

export const drafts = {
  read: (key: string) => run<Draft | undefined>('readonly', (store) => store.get(key)),
  write: async (draft: Draft) => {
    await run('readwrite', (store) => store.put(draft));
  },
  remove: async (key: string) => {
    await run('readwrite', (store) => store.delete(key));
  },
};
