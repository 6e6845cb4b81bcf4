/** Where drafts of the editor are kept in this browser; who logs out is asked whether they stay. */
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

/** While a person logs out, an editor that is still open must not write its draft again. */
let closed = false;

export function closeDrafts(close: boolean): void {
  closed = close;
}

export async function inDrafts<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  if (closed && mode === 'readwrite') throw new Error('the drafts are being removed');
  return transact(mode, act);
}

async function transact<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
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

/** Names of the schemas that have a draft. A browser that keeps nothing has none. */
export async function draftNames(): Promise<string[]> {
  try {
    return (await inDrafts('readonly', (store) => store.getAllKeys())).map(String);
  } catch {
    return [];
  }
}

/** The drafts, and the inputs that were typed for tests of schemas. */
export async function forgetDrafts(): Promise<void> {
  await transact('readwrite', (store) => store.clear());
  for (const name of Object.keys(localStorage)) if (name.startsWith('pawl.input.')) localStorage.removeItem(name);
}
