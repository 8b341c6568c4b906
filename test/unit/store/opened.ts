/** A store together with the connection that it opened, to look at and to make trouble with. */
import Database from 'better-sqlite3';
import { vi } from 'vitest';
import { sqlite, statement } from '../../../daemon/store/statement.ts';
import { Store, type StoreOptions } from '../../../daemon/store/store.ts';

export type Opened = { store: Store; db: Database.Database };

/** Does what opens a store, and catches the connection to its database on the way. */
export async function catching<T>(open: () => Promise<T>): Promise<{ made: T; db: Database.Database }> {
  const seen: Database.Database[] = [];
  const { prepare } = Database.prototype;
  const spy = vi.spyOn(Database.prototype, 'prepare').mockImplementation(function (this: Database.Database, sql) {
    seen.push(this);
    return prepare.call(this, sql);
  });
  try {
    const made = await open();
    // the lock's connection only executes; whoever migrates prepares
    const db = seen.find(({ name }) => name === ':memory:' || name.endsWith('countinghouse.db'));
    if (!db) throw new Error('the store prepared nothing');
    return { made, db };
  } finally {
    spy.mockRestore();
  }
}

/** Opens the store of a data directory, or one in memory. */
export async function opened(dataDir: string | null, options: StoreOptions = {}): Promise<Opened> {
  const { made, db } = await catching(() => (dataDir === null ? Store.inMemory() : Store.open(dataDir, options)));
  return { store: made, db };
}

/** A table that means nothing to the rest, for trying writes on. */
export const put = statement((p: { key: string; body: string }) =>
  sqlite.replaceInto('idempotency').values({
    business_id: 1,
    route: 'test',
    key: p.key,
    body_hash: new Uint8Array(),
    status: 200,
    body: p.body,
    created_at: 0,
    expires_at: null,
  }),
);

const keys = statement((_: Record<never, never>) => sqlite.selectFrom('idempotency').select('key').orderBy('key'));

export const keysIn = (store: Store): string[] => store.all(keys, {}).map(({ key }) => key);

/** An unpaid invoice; its number and names are missing. */
export const INVOICE = {
  business_id: 1,
  origin: 'merchant',
  amount: 1n,
  tolerance: 0n,
  currency: 'USD',
  crypto: 'ALL',
  status: 'unpaid' as const,
  due_at: 1,
  check_at: null,
  close_url: null,
  redirect_url: null,
  webhook_url: null,
  automatic_redirect: true,
  created_at: 1,
  updated_at: 1,
  order_id: null,
  description: null,
  metadata: null,
};
