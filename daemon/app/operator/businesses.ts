/** Adds businesses with their first key and client ID, in one transaction. */

import { isUtxo } from '../../chains/derive.ts';
import { CHAINS, type ChainId, type Network } from '../../domain/assets.ts';
import { type AccountKey, chainKey, isWatchOnly } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import type { Scope } from '../../domain/merchant.ts';
import type { ClientRow } from '../../store/queries/businesses.ts';
import { refuseSpendKey } from '../../wallet/view-only.ts';
import { FORMS } from '../../wallet/watch-only.ts';
import type { App } from '../app.ts';
import { addBusiness, type NewBusiness } from '../shops/businesses.ts';
import { addClient, type NewClient } from '../shops/clients.ts';
import { addApiKey } from '../shops/keys.ts';

type AddedBusiness = { id: number; keyId: number; key: string; client: ClientRow | null };

/**
 * Adds a business, its first key and, if wanted, a client ID, in one transaction. Throws `Rejected`, also for account
 * keys from which no address can be derived (`business.accounts`).
 */
export async function openBusiness(
  app: App,
  wanted: NewBusiness,
  key: { name: string; scopes: readonly Scope[] },
  client: NewClient | null,
): Promise<AddedBusiness> {
  await checkAccounts(app, wanted.network, wanted.accounts);
  return app.store.write((tx) => {
    const id = addBusiness(app, wanted, tx);
    const added = addApiKey(app, tx, id, wanted.network === 'mainnet', key.name, key.scopes);
    const made = client && addClient(app, tx, { id, network: wanted.network }, client);
    return { id, keyId: added.id, key: added.key, client: made };
  });
}

/**
 * Throws `Rejected`: `account.script` for a watch-only account of a kind that its chain does not have, and `account.private` for a
 * private spend key of Monero in place of the view key.
 */
function checkForm(chain: ChainId, key: AccountKey): void {
  if (key.kind === 'monero' && chain === 'XMR') {
    refuseSpendKey(key);
    return;
  }
  const form = key.kind === 'secp256k1' ? key.watch?.form : undefined;
  if (form !== undefined && isUtxo(chain) && FORMS[chain].includes(form)) return;
  throw new Rejected('account.script', `${chain} has no watch-only accounts of that kind`, 'accounts');
}

/** A key that is not on its curve would make address derivation fail later. */
async function checkAccounts(
  app: App,
  network: Network,
  accounts: Partial<Record<ChainId, AccountKey>>,
): Promise<void> {
  for (const chain of CHAINS) {
    const key = accounts[chain];
    const runtime = app.chains.find(chainKey(network, chain));
    if (!key) continue;
    if (isWatchOnly(key)) checkForm(chain, key);
    if (!runtime) continue;
    try {
      await runtime.adapter.deriveAddress(key, 0, 0);
    } catch (error) {
      const rejected = new Rejected('business.accounts', `The ${chain} account's key is not valid`, 'accounts');
      rejected.cause = error;
      throw rejected;
    }
  }
}
