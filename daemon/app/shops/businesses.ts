/** Adds businesses with their accounts, and changes them. */
import { randomUUIDv7 } from 'node:crypto';
import { ASSETS, type AssetId, assetOf, CHAINS, type ChainId, findAsset, type Network } from '../../domain/assets.ts';
import { isTimeZone } from '../../domain/calendar.ts';
import { type AccountKey, type ChainKey, chainKey, chainOf, isWatchOnly, networkOf } from '../../domain/chain.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { isEvm, kinOf } from '../../domain/evm.ts';
import { GAP } from '../../domain/indices.ts';
import { addressAt } from '../../monero/address.ts';
import { insertAccount, insertBusiness, setBusiness, setBusinessAsset } from '../../store/queries/businesses.ts';
import { insertTarget } from '../../store/queries/credits.ts';
import { setPast } from '../../store/queries/skipped.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { skipUsed } from '../addresses/skipped.ts';
import type { App } from '../app.ts';
import { isQuarantined, restoredFrom } from '../recovery/quarantine.ts';
import { beginUnknownSpends } from '../recovery/unknown-spends.ts';
import { BUSINESSES_MAX, type Business } from './directory.ts';

const NAME_CHARACTERS_MAX = 100;

export type NewBusiness = {
  name: string;
  network: Network;
  timeZone: string;
  /** The wallet's account number: must be the next one of its network. */
  accountNo: number;
  /** The public keys of its accounts, one per chain. */
  accounts: Partial<Record<ChainId, AccountKey>>;
  /** When its wallet was first used, milliseconds since 1970; earlier blocks are not read. Null: now. */
  birthday: number | null;
  /** For a wallet that was used before. */
  past?: Past;
  /** The first index that is given out, where it is not 0. */
  begin?: Partial<Record<ChainId, number>>;
};

type Past = {
  /** How many addresses past the last used one are searched in each branch. */
  gap: number;
  /** The highest indices known to be used; -1: none. */
  used: Partial<Record<ChainId, { receiving: number; change: number }>>;
};

/** The next account number of a network: without gaps, so that a restore finds all accounts. */
export function nextAccountNo(app: App, network: Network): number {
  return app.directory.businesses().filter((business) => business.network === network).length;
}

/** The symbols that a business can take: their chain is connected and it has an account on it. */
export function possibleAssets(app: App, network: Network, chains: readonly ChainId[]): AssetId[] {
  return ASSETS.filter((asset) => chains.includes(asset.chain) && app.chains.sees(network, asset)).map(
    (asset) => asset.symbol,
  );
}

const PAST_TIMEOUT_MS = 60_000;

/**
 * Throws `Rejected` if a connected source of a network lacks the past from a wallet's birthday on (milliseconds since
 * 1970). A source that does not answer now is asked later.
 */
export async function needPast(app: App, network: Network, birthday: number): Promise<void> {
  for (const chain of CHAINS) {
    const runtime = app.chains.find(chainKey(network, chain));
    try {
      await runtime?.adapter.begin(birthday, runtime.limit(PAST_TIMEOUT_MS));
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
  }
}

/**
 * The time of Monero's block of a height, as a birthday (milliseconds since 1970). Throws `Rejected('business.restore_height')` where
 * Monero is not connected or has no such block yet, and `Unavailable` if its source does not answer.
 */
export async function birthdayAtHeight(app: App, network: Network, height: number): Promise<number> {
  const reject = (why: string) => new Rejected('business.restore_height', why, 'restore_height');
  const runtime = app.chains.find(chainKey(network, 'XMR'));
  if (!runtime?.adapter.blockTime) {
    throw reject(
      `A restore height is a block of Monero, which is not connected on ${network}: give a birthday instead`,
    );
  }
  const time = await runtime.adapter.blockTime(height, runtime.limit(PAST_TIMEOUT_MS));
  if (time === null) throw reject(`Monero has no block ${height} yet: a restore height cannot lie in the future`);
  return time;
}

function checkName(name: string): string {
  const trimmed = name.trim();
  if (trimmed.length === 0 || trimmed.length > NAME_CHARACTERS_MAX) {
    throw new Rejected('business.name', `A name has 1 to ${NAME_CHARACTERS_MAX} characters`, 'name');
  }
  // commands would take a number for a business's id
  if (/^\p{Nd}+$/u.test(trimmed)) throw new Rejected('business.name', 'A name is not only a number', 'name');
  return trimmed;
}

function checkTimeZone(timeZone: string): string {
  if (isTimeZone(timeZone)) return timeZone;
  throw new Rejected('business.time_zone', `${timeZone} is no time zone: use one such as Europe/Berlin`, 'time_zone');
}

/** Excludes assets that only public endpoints connect: moving them needs gas, and endpoints see the addresses. */
function isTakenUnasked(app: App, network: Network, asset: AssetId): boolean {
  const { chain } = assetOf(asset);
  return !isEvm(chain) || !app.chains.find(chainKey(network, chain))?.dormant;
}

/** Adds a business, and enables the connected assets of its network that need no decision. Throws `Rejected`. */
export function addBusiness(app: App, wanted: NewBusiness, tx: Tx): number {
  const name = checkName(wanted.name);
  const timeZone = checkTimeZone(wanted.timeZone);
  if (app.directory.businesses().length >= BUSINESSES_MAX) {
    throw new Rejected('business.too_many', `There are ${BUSINESSES_MAX} businesses already`);
  }
  if (wanted.accountNo !== nextAccountNo(app, wanted.network)) {
    throw new Rejected('business.account', 'Another business was added meanwhile: try again');
  }
  const now = app.now();
  const { id } = tx.run(insertBusiness, {
    uuid: randomUUIDv7(),
    name,
    network: wanted.network,
    time_zone: timeZone,
    account_no: wanted.accountNo,
    created_at: now,
  });
  const chains = CHAINS.filter((chain) => wanted.accounts[chain]);
  for (const chain of chains) {
    const key = wanted.accounts[chain]!;
    refuseUsedKey(app, chainKey(wanted.network, chain), key);
    const account = tx.run(insertAccount, {
      business_id: id,
      chain_key: chainKey(wanted.network, chain),
      key,
      next_index: wanted.begin?.[chain] ?? 0,
      birthday: wanted.birthday ?? now,
      // a past can be read only from a birthday on
      rescan: wanted.past && wanted.birthday !== null ? '[]' : null,
    });
    if (isWatchOnly(key) && key.kind === 'monero') watchPrimary(tx, account.id, wanted.network, key);
    const past = wanted.past ?? (mayBeKnown(tx, wanted.network, key) ? { gap: GAP, used: {} } : undefined);
    if (!past) continue;
    addPast(tx, account.id, chain, past);
    if (wanted.birthday !== null && !isWatchOnly(key))
      beginUnknownSpends(tx, { id: account.id, chain_key: chainKey(wanted.network, chain) }, now);
  }
  for (const asset of possibleAssets(app, wanted.network, chains)) {
    tx.run(setBusinessAsset, { business_id: id, asset, enabled: isTakenUnasked(app, wanted.network, asset) });
  }
  tx.afterCommit(() => {
    app.directory.load(app.store);
    app.wake.business();
  });
  return id;
}

/**
 * Accounts of one key would give the same address to two payers; those of a wallet differ by their number. One business may have a key on
 * both chains of accounts, where each address is given out once (`addresses/kin.ts`). Throws `Rejected('account.in_use')`.
 */
function refuseUsedKey(app: App, chain_key: ChainKey, key: AccountKey): void {
  const nodeOf = (one: AccountKey) =>
    one.kind === 'secp256k1' ? `${one.publicKey} ${one.chainCode}` : one.publicSpendKey;
  const node = nodeOf(key);
  const isSame = (one: AccountKey) => (isWatchOnly(key) || isWatchOnly(one)) && nodeOf(one) === node;
  const kin = kinOf(chainOf(chain_key));
  const keys = [chain_key, ...(kin === null ? [] : [chainKey(networkOf(chain_key), kin)])];
  const other = app.directory.accounts().find((one) => keys.includes(one.chainKey) && isSame(one.key));
  if (!other) return;
  const { name } = app.directory.business(other.businessId);
  throw new Rejected(
    'account.in_use',
    `The key is that of ${name} already: each business needs an account of its own`,
    'accounts',
  );
}

/** The other wallet of a view-only account gets its change at the standard address, from its first payment on. */
function watchPrimary(tx: Tx, account_id: number, network: Network, key: AccountKey): void {
  const place = { account_id, chain_key: chainKey(network, 'XMR'), branch: 1, idx: 0, invoice_id: null };
  tx.run(insertTarget, { ...addressAt(key, 1, 0, network), ...place });
}

/**
 * Whether data that came back older may lack a business of this account's number, which gave out its addresses. The wallet of a watch-only
 * account does not look so far behind.
 */
const mayBeKnown = (reader: Reader, network: Network, key: AccountKey): boolean =>
  network !== 'sandbox' && !isWatchOnly(key) && (isQuarantined(reader) || restoredFrom(reader) !== null);

/** Skips the account's addresses that may already be in use; their money is found by the rescan. */
function addPast(tx: Tx, account_id: number, chain: ChainId, { gap, used }: Past): void {
  const { receiving, change } = used[chain] ?? { receiving: -1, change: -1 };
  tx.run(setPast, { account_id, gap, used_index: receiving, used_change: change });
  skipUsed(tx, account_id);
}

/** Throws `Rejected`. */
export function changeBusiness(
  app: App,
  business: Business,
  change: { name?: string | undefined; timeZone?: string | undefined; enable?: string[]; disable?: string[] },
  tx: Tx,
): void {
  tx.run(setBusiness, {
    id: business.id,
    name: change.name === undefined ? business.name : checkName(change.name),
    time_zone: change.timeZone === undefined ? business.timeZone : checkTimeZone(change.timeZone),
  });
  const set = (symbols: string[] | undefined, enabled: boolean): void => {
    for (const symbol of symbols ?? []) {
      const asset = findAsset(symbol);
      if (!asset) throw new Rejected('business.asset', `${symbol} is no cryptocurrency of this service`, 'crypto');
      if (enabled && !app.directory.account(business, asset.symbol)) {
        throw new Rejected('business.asset', `${business.name} has no ${asset.chain} account`, 'crypto');
      }
      tx.run(setBusinessAsset, { business_id: business.id, asset: asset.symbol, enabled });
    }
  };
  set(change.enable, true);
  set(change.disable, false);
  tx.afterCommit(() => app.directory.load(app.store));
  tx.afterCommit(() => app.wake.business());
}
