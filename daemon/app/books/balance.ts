/**
 * The balance of a business: running totals, updated by every commit that moves a coin, less the amounts reserved for
 * withdrawals.
 */
import { ASSETS, type Asset } from '../../domain/assets.ts';
import { isWatchOnly } from '../../domain/chain.ts';
import { minOf, sumOf } from '../../domain/money.ts';
import { coinsWithoutImage } from '../../store/queries/key-images.ts';
import { immatureCoins } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { whySpendsUnknown } from '../recovery/unknown-spends.ts';
import type { Account, Business } from '../shops/directory.ts';
import { availableUnits } from '../spends/coins.ts';

/** More would be a mining pool's. */
const IMMATURE_READ_MAX = 10_000;
const COINS_READ_MAX = 10_000;

/**
 * `withheld`: why the amount cannot be told yet, so that `units` is 0; null: it is right. `unproven`: the part of it that may have been
 * spent already, because nobody gave its key images; null: every spend is seen by itself.
 */
export type Balance = { asset: Asset; units: bigint; withheld: string | null; unproven: bigint | null };

/** The spendable units of every enabled asset, in the order of the asset table. */
export function balances(app: App, business: Business): Balance[] {
  return business.enabled.map((asset) => balanceOf(app, business, asset));
}

/** The same of the assets that a business takes no longer and has an account of. */
export function formerBalances(app: App, business: Business): Balance[] {
  const isFormer = (asset: Asset): boolean =>
    !app.directory.takes(business, asset.symbol) && app.directory.account(business, asset.symbol) !== undefined;
  return ASSETS.filter(isFormer).map((asset) => balanceOf(app, business, asset));
}

function balanceOf(app: App, business: Business, asset: Asset): Balance {
  const account = app.directory.account(business, asset.symbol);
  const chain = account && app.chains.find(account.chainKey);
  const withheld = account ? whySpendsUnknown(app.store, chain ?? undefined, account.id) : null;
  const units = account && withheld === null ? availableUnits(app.store, account.id, asset.symbol) : 0n;
  const isFollowed = !account || !chain?.adapter.keyImages || !isWatchOnly(account.key);
  const unproven = isFollowed ? null : minOf(unprovenUnits(app.store, account.id), units);
  return { asset, units, withheld, unproven };
}

/** The coins of a view-only account of which no key image is known. More than are read at once are not counted. */
function unprovenUnits(reader: Reader, account_id: number): bigint {
  const coins = reader.all(coinsWithoutImage, { account_id, asset: 'XMR', limit: COINS_READ_MAX });
  return sumOf(coins);
}

/**
 * Units that can be spent some blocks later. `blocks`: until the first and until the last of them, if no block is
 * reorganised; change that is in no block yet counts as if the next one had it.
 */
type Locked = { units: bigint; blocks: { first: number; last: number } };

/** Null: none. */
export function lockedUnits(reader: Reader, chain: ChainRuntime, account: Account, asset: Asset): Locked | null {
  const rows = reader.all(immatureCoins, { account_id: account.id, asset: asset.symbol, limit: IMMATURE_READ_MAX });
  const tip = chain.tipHeight;
  if (rows.length === 0 || tip === null) return null;
  const blocks = rows.map(({ block_height, maturity }) => (block_height ?? tip + 1) + maturity - 1 - tip);
  const units = rows.reduce((sum, row) => sum + row.units, 0n);
  return { units, blocks: { first: Math.min(...blocks), last: Math.max(...blocks) } };
}
