/** Whether the words of a wallet give the accounts of a copied database, whose money a restored service would take. */
import { isDeepStrictEqual } from 'node:util';
import type { ChainId, Network } from '../../domain/assets.ts';
import { type AccountKey, isWatchOnly } from '../../domain/chain.ts';
import {
  accountsIn,
  readyAddresses,
  type ShownAddress,
  type Source,
  type StoredAccount,
  shownAddresses,
} from '../../store/snapshot.ts';
import type { OpenedBackup } from '../../wallet/backup-key.ts';
import { comparable, ownAddress } from '../../wallet/own-address.ts';
import { primaryAddress } from '../../wallet/view-only.ts';
import { descriptorOf } from '../../wallet/watch-only.ts';

/**
 * `foreign`: the words give another account, or an open invoice shows an address that its account does not give. `imported`: another account
 * of Monero, whose 25 words may have been imported. `watchOnly`: accounts of other wallets. The last two are so by the database's word
 * alone, which whoever wrote into it could have made; each has its descriptor or address.
 */
type Compared = { foreign: string[]; imported: string[]; watchOnly: string[] };

export const placeOf = ({ chain_key }: Pick<StoredAccount, 'chain_key'>) => chain_key.split(':') as [Network, ChainId];
export const nameOf = ({ chain_key, account_no }: Pick<StoredAccount, 'chain_key' | 'account_no'>): string =>
  `${chain_key} account ${account_no}`;
export const keyOf = ({ key }: Pick<StoredAccount, 'key'>): AccountKey => JSON.parse(key) as AccountKey;

/** Compares the accounts of a database with the words. The sandbox has its own words. */
export function compareAccounts(database: Source, words: Pick<OpenedBackup, 'account' | 'kept'>): Compared {
  const compared: Compared = { foreign: [], imported: [], watchOnly: [] };
  for (const account of accountsIn(database)) {
    const [network, chain] = placeOf(account);
    const stored = keyOf(account);
    if (network === 'sandbox') continue;
    const known = `${nameOf(account)}: ${knownBy(stored, chain, network)}`;
    const kept = words.kept?.(chain, network, account.account_no) ?? null;
    if (isDeepStrictEqual(kept, stored)) continue;
    else if (isWatchOnly(stored) && kept) compared.foreign.push(`${known}, and this computer has kept another account`);
    else if (isWatchOnly(stored)) compared.watchOnly.push(known);
    else if (isDeepStrictEqual(words.account(chain, network, account.account_no), stored)) continue;
    else if (stored.kind === 'monero') compared.imported.push(known);
    else compared.foreign.push(`${nameOf(account)}: the words give another account`);
  }
  const keys = new Map<string, AccountKey>();
  compared.foreign.push(...shownAddresses(database).flatMap((shown) => shownProblem(shown, keys)));
  return compared;
}

/** The addresses that a restored database would give out next, and that their accounts do not give. */
export function foreignReady(database: Source): string[] {
  const keys = new Map<string, AccountKey>();
  return readyAddresses(database).flatMap(({ key: text, idx, address, ...account }) => {
    const [network, chain] = placeOf(account);
    if (network === 'sandbox') return [];
    const own = ownAddress(keyFrom(text, keys), chain, network, idx);
    const isOwn = comparable(address, chain, network) === comparable(own, chain, network);
    return isOwn ? [] : [`${nameOf(account)} would give out ${address}, and its address ${idx} is ${own}`];
  });
}

/** `keys`: those that were read, by their text. */
function keyFrom(text: string, keys: Map<string, AccountKey>): AccountKey {
  const key = keys.get(text) ?? keyOf({ key: text });
  keys.set(text, key);
  return key;
}

/** Whether the account of an open invoice gives the address that its payer sees. `keys`: of `keyFrom`. */
function shownProblem(
  { slug, address, key: text, idx, ...place }: ShownAddress,
  keys: Map<string, AccountKey>,
): string[] {
  const [network, chain] = placeOf(place);
  if (network === 'sandbox') return [];
  const foreign = `invoice ${slug} shows ${address}`;
  if (text === null || idx === null) return [`${foreign}, which no account gives`];
  const own = ownAddress(keyFrom(text, keys), chain, network, idx);
  const isOwn = comparable(address, chain, network) === comparable(own, chain, network);
  return isOwn ? [] : [`${foreign}, and its account gives ${own}`];
}

function knownBy(key: AccountKey, chain: ChainId, network: Network): string {
  if (key.kind === 'monero') return primaryAddress(key, network);
  const { form = null, origin = null } = key.watch ?? {};
  return form === null
    ? `its first address is ${ownAddress(key, chain, network, 0)}`
    : descriptorOf({ ...key, watch: { form, origin } }, network);
}
