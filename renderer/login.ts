/**
 * Where a browser keeps its session: in the storage of the console's origin. The private key is an object that can be used and not
 * read, by no script.
 */
import type { Login, LoginStore } from '../daemon/contract/console-client.ts';

const DATABASE = 'countinghouse';
const STORE = 'session';
const NAME = 'login';

const done = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

async function withStore<T>(mode: IDBTransactionMode, work: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await done(opening);
  try {
    return await done(work(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

/** Where the browser stores no keys, as some private windows, the session is this page's, and ends with it. */
export function browserLogin(): LoginStore {
  let own: Login | null = null;
  return {
    read: async () => own ?? (await withStore('readonly', (store) => store.get(NAME)).catch(() => null)) ?? null,
    write: async (login) => {
      own = null;
      const kept = login
        ? withStore('readwrite', (store) => store.put(login, NAME))
        : withStore('readwrite', (store) => store.delete(NAME));
      await kept.catch(() => {
        own = login;
      });
    },
  };
}
