/** Adds businesses with their first key and client ID, in one transaction. */

import { isUtxo } from '../../chains/derive.ts';
import { CHAINS, type ChainId, type Network } from '../../domain/assets.ts';
import { type AccountKey, chainKey, isWatchOnly } from '../../domain/chain.ts';
import { Rejected } from '../../domain/errors.ts';
import { EVM_CHAINS, isEvm } from '../../domain/evm.ts';
import type { Scope } from '../../domain/merchant.ts';
import type { ClientRow } from '../../store/queries/businesses.ts';
import { refuseSpendKey } from '../../wallet/view-only.ts';
import { FORMS } from '../../wallet/watch-only.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
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
  const begin = await beginnings(app, wanted);
  return app.store.write((tx) => {
    const id = addBusiness(app, { ...wanted, begin }, tx);
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
  if (form === null && isEvm(chain)) return;
  if (form && isUtxo(chain) && FORMS[chain].includes(form)) return;
  throw new Rejected('account.script', `${chain} has no watch-only accounts of that kind`, 'accounts');
}

/** How many addresses behind the last used one are looked at for use: more than the 20 of BIP-44, because one call asks about all. */
const LOOKED_AT = 100;
const LOOK_TIMEOUT_MS = 60_000;

/**
 * Where watch-only accounts of chains of accounts begin, if no birthday is given: behind the addresses that their wallet uses already. A
 * wallet of such chains has money at its first address and stays there, and what an address held before would count as a payment.
 * Throws `Unavailable` if a connected source does not tell.
 */
async function beginnings(
  app: App,
  { network, accounts, past }: NewBusiness,
): Promise<Partial<Record<ChainId, number>>> {
  const begin: Partial<Record<ChainId, number>> = {};
  for (const chain of EVM_CHAINS) {
    const key = accounts[chain];
    if (past || !key || !isWatchOnly(key)) continue;
    // on each of the two chains an address of the same key is the same
    const used = await Promise.all(EVM_CHAINS.map((one) => usedUpTo(app.chains.find(chainKey(network, one)), key)));
    begin[chain] = Math.max(...used);
  }
  return begin;
}

/** The index behind the last used address; 0: none is used, or the chain is not connected. */
async function usedUpTo(chain: ChainRuntime | undefined, key: AccountKey): Promise<number> {
  if (!chain?.adapter.areUsed) return 0;
  let behind = 0;
  for (let from = 0; from < behind + LOOKED_AT; from += LOOKED_AT) {
    const indices = Array.from({ length: LOOKED_AT }, (_, i) => from + i);
    const scripts = await Promise.all(
      indices.map(async (index) => (await chain.adapter.deriveAddress(key, 0, index)).script),
    );
    const used = await chain.adapter.areUsed(scripts, chain.limit(LOOK_TIMEOUT_MS));
    if (used.includes(true)) behind = from + used.lastIndexOf(true) + 1;
  }
  return behind;
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
