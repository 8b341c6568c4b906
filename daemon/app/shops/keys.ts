/** API keys: shown once, stored as a hash. The bounded cache is cleared by every commit that revokes one. */
import { LRUCache } from 'lru-cache';
import { Rejected } from '../../domain/errors.ts';
import type { Scope } from '../../domain/merchant.ts';
import { allApiKeys, apiKeyByHash, insertApiKey, revokeApiKey, touchApiKey } from '../../store/queries/businesses.ts';
import type { Store, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { keyHash, keyName, randomText } from '../ids.ts';
import { sleepingKeys } from '../recovery/sleeping-keys.ts';

/** 32 characters of 62: 190 bits. */
const KEY_CHARACTERS = 32;
const HINT_CHARACTERS = 12;
export const KEYS_MAX = 1_000;
const CACHED_KEYS_MAX = 1_000;
const LAST_USED_WRITTEN_MS = 60_000;

/** `asleep`: a restore may have revived it: it does not withdraw or refund until the operator keeps it. */
export type Caller = {
  keyId: number;
  businessId: number;
  scopes: ReadonlySet<string>;
  perMinute: number | null;
  asleep: boolean;
};

/** Makes a key and returns it; it is not shown again. `perMinute`: its limit of requests; null: none. */
export function addApiKey(
  app: App,
  tx: Tx,
  businessId: number,
  mainnet: boolean,
  name: string,
  scopes: readonly Scope[],
  perMinute: number | null = null,
): { id: number; key: string } {
  if (tx.all(allApiKeys, {}).filter((row) => row.revoked_at === null).length >= KEYS_MAX) {
    throw new Rejected('key.too_many', `There are ${KEYS_MAX} keys already: revoke some first`);
  }
  const key = `ch_${mainnet ? 'live' : 'test'}_${randomText(KEY_CHARACTERS)}`;
  const { id } = tx.run(insertApiKey, {
    business_id: businessId,
    name,
    hash: keyHash(key),
    hint: key.slice(0, HINT_CHARACTERS),
    scopes: scopes.join(' '),
    created_at: app.now(),
    per_minute: perMinute,
  });
  return { id, key };
}

/** Revokes a key. Throws `Rejected` if it does not exist or was revoked. */
export function endApiKey(app: App, tx: Tx, id: number): void {
  if (tx.run(revokeApiKey, { id, revoked_at: app.now() }).changes !== 1) {
    throw new Rejected('key.not_found', 'There is no such key, or it was revoked already');
  }
  tx.afterCommit(() => app.keys.clear());
}

export class KeyRing {
  readonly #store: Store;
  readonly #now: () => number;
  /** By the key's hash, so that no key stays in memory. */
  readonly #known = new LRUCache<string, { caller: Caller; touchedAt: number }>({ max: CACHED_KEYS_MAX });
  /** Keys that exist in memory only, while work uses them. */
  readonly #lent = new Map<string, Caller>();

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** The owner of a key; null if it is unknown or revoked. */
  caller(key: string): Caller | null {
    const name = keyName(key);
    const lent = this.#lent.get(name);
    if (lent) return lent;
    const known = this.#known.get(name) ?? this.#load(name);
    if (!known) return null;
    const now = this.#now();
    if (now - known.touchedAt >= LAST_USED_WRITTEN_MS) {
      known.touchedAt = now;
      const { keyId } = known.caller;
      // a lost time of use does not matter: the next one is written a minute later
      this.#store.write((tx) => tx.run(touchApiKey, { id: keyId, last_used_at: now })).catch(() => {});
    }
    return known.caller;
  }

  /** Runs work with a key of a business that is valid until the work ends, and is never stored. */
  async lend<T>(businessId: number, scopes: readonly Scope[], work: (key: string) => Promise<T>): Promise<T> {
    const key = `ch_test_${randomText(KEY_CHARACTERS)}`;
    const name = keyName(key);
    this.#lent.set(name, { keyId: 0, businessId, scopes: new Set(scopes), perMinute: null, asleep: false });
    try {
      return await work(key);
    } finally {
      this.#lent.delete(name);
    }
  }

  /** To be called after a key was revoked, and when a quarantine begins or ends. */
  clear(): void {
    this.#known.clear();
  }

  #load(name: string): { caller: Caller; touchedAt: number } | null {
    const row = this.#store.get(apiKeyByHash, { hash: Buffer.from(name, 'base64') });
    if (!row) return null;
    const caller = {
      keyId: row.id,
      businessId: row.business_id,
      scopes: new Set(row.scopes.split(' ')),
      perMinute: row.per_minute,
      asleep: sleepingKeys(this.#store).some(({ id }) => id === row.id),
    };
    const known = { caller, touchedAt: row.last_used_at ?? 0 };
    this.#known.set(name, known);
    return known;
  }
}
