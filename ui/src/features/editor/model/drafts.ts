/** Drafts in the browser: what is not saved survives a crash of the tab, of the browser and of the server. */
import type { CanvasLayout } from './wire';

export interface Draft {
  /** Name of the stored schema; `new:ID` for one that is not stored. */
  key: string;
  text: string;
  layout: CanvasLayout;
  version: number | null;
  at: number;
}

const NAME = 'pawl-drafts';
const STORE = 'drafts';

function open(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(NAME, 1);
    request.onupgradeneeded = () => request.result.createObjectStore(STORE, { keyPath: 'key' });
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

async function run<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const database = await open();
  try {
    return await new Promise<T>((resolve, reject) => {
      const transaction = database.transaction(STORE, mode);
      const request = act(transaction.objectStore(STORE));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(transaction.error);
    });
  } finally {
    database.close();
  }
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
