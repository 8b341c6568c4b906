/**
 * Creates the sandbox business, a key and a client ID in a new data directory.
 *
 * Invariant: a key that nobody may have seen does not stay valid. Until the keys are acknowledged as shown, each start
 * revokes the first key and makes another one.
 */
import type { ChainId } from '../../domain/assets.ts';
import type { AccountKey } from '../../domain/chain.ts';
import { assert } from '../../domain/errors.ts';
import { SCOPES } from '../../domain/merchant.ts';
import { dropSetting, saveSetting, settingOf } from '../../store/queries/settings.ts';
import type { Tx } from '../../store/store.ts';
import { derive } from '../addresses/pool.ts';
import type { App } from '../app.ts';
import { addBusiness } from './businesses.ts';
import { addClient } from './clients.ts';
import { addApiKey, endApiKey } from './keys.ts';

/** The number of the first key until it is acknowledged. */
const UNSEEN = 'first_key_unseen';
/** Enough for the first requests; the running service derives more. */
const ADDRESSES_AT_START = 20;

export type FirstKeys = { apiKey: string; clientId: string };

type Accounts = Partial<Record<ChainId, AccountKey>>;

/**
 * Creates the sandbox business of a new data directory in one transaction. Null if its keys were shown already.
 * Deriving the accounts takes a tenth of a start, so that `accounts` is called only for a new data directory.
 */
export async function firstStart(app: App, accounts: () => Accounts): Promise<FirstKeys | null> {
  const isFresh = app.directory.businesses().length === 0;
  const unseen = app.store.get(settingOf, { key: UNSEEN });
  if (!isFresh && !unseen) return null;
  if (!isFresh) return app.store.write((tx) => renew(app, tx, unseen!.value));
  const made = accounts();
  const keys = await app.store.write((tx) => begin(app, tx, made));
  await Promise.all(app.directory.accounts().map((account) => derive(app, account, ADDRESSES_AT_START)));
  return keys;
}

export async function acknowledgeKeys(app: App): Promise<void> {
  if (!app.store.get(settingOf, { key: UNSEEN })) return;
  await app.store.write((tx) => tx.run(dropSetting, { key: UNSEEN }));
}

function begin(app: App, tx: Tx, accounts: Accounts): FirstKeys {
  const terms = { name: 'Sandbox', network: 'sandbox', timeZone: 'UTC', accountNo: 0, birthday: null } as const;
  const id = addBusiness(app, { ...terms, accounts }, tx);
  const client = addClient(app, tx, { id, network: 'sandbox' }, { name: 'first client', origins: [], hosts: [] });
  return { apiKey: newKey(app, tx, id), clientId: client.public_id };
}

function renew(app: App, tx: Tx, keyId: string): FirstKeys | null {
  const sandbox = app.directory.businesses().find(({ network }) => network === 'sandbox');
  assert(sandbox, 'the first business is of the sandbox');
  const client = app.directory.clients().find(({ businessId }) => businessId === sandbox.id);
  try {
    endApiKey(app, tx, Number(keyId));
  } catch {
    // the operator revoked it, so its key was known
    tx.run(dropSetting, { key: UNSEEN });
    return null;
  }
  return { apiKey: newKey(app, tx, sandbox.id), clientId: client?.publicId ?? '' };
}

function newKey(app: App, tx: Tx, businessId: number): string {
  const { id, key } = addApiKey(app, tx, businessId, false, 'first key', SCOPES);
  tx.run(saveSetting, { key: UNSEEN, value: `${id}`, updated_at: app.now() });
  return key;
}
