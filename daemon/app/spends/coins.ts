/**
 * The spendable coins of an account. A coin of any version of an open spend is reserved, whether that version was sent
 * or not.
 */
import type { AssetId } from '../../domain/assets.ts';
import type { Coin } from '../../domain/spend.ts';
import { balanceOf, creditByOutpoint, type TargetRow } from '../../store/queries/credits.ts';
import {
  type AnyCoinRow,
  type CoinRow,
  coinByOutpoint,
  coinsOf,
  heldWithdrawals,
  reservedKeys,
  spendById,
  versionByTxid,
  type WithdrawalRow,
} from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import { coinFrom } from '../addresses/watch.ts';
import type { ChainRuntime } from '../chains/chains.ts';
import { tipHeightOf } from '../chains/checkpoint.ts';
import type { Account } from '../shops/directory.ts';
import { isSoleChange } from './facts.ts';

/** The coins that one selection reads; the most valuable first. */
const COINS_READ_MAX = 20_000;

/** Coins by preference: plain deposits, deposits in the inbox, our unconfirmed change. */
type Coins = { plain: Coin[]; undecided: Coin[]; change: Coin[] };

/** `settledOnly`: only coins with their required confirmations, and our own confirmed change. */
export function spendableCoins(
  reader: Reader,
  chain: ChainRuntime,
  account: Account,
  asset: AssetId,
  settledOnly: boolean,
): Coins {
  const tip = tipHeightOf(reader, chain);
  const reserved = new Set(reader.all(reservedKeys, { chain_key: chain.key }).map(({ conflict_key }) => conflict_key));
  // the deposits that refunds wait to spend
  for (const { outpoint } of reader.all(heldWithdrawals, { account_id: account.id })) {
    if (outpoint !== null) reserved.add(outpoint);
  }
  const coins: Coins = { plain: [], undecided: [], change: [] };
  for (const row of reader.all(coinsOf, { account_id: account.id, asset, limit: COINS_READ_MAX })) {
    const coin = coinFrom(row, tip);
    if (reserved.has(row.outpoint) || !isRipe(row, coin)) continue;
    if (coin.confirmations === 0) {
      if (!settledOnly && isSoleChange(reader, chain, row.txid)) coins.change.push(coin);
    } else if (!settledOnly || row.confirmed || row.own_change) {
      (row.inbox_state === 'open' ? coins.undecided : coins.plain).push(coin);
    }
  }
  return coins;
}

/** Whether a coin may be spent at its depth; our own change also before it confirms. */
function isRipe({ locked, own_change, maturity }: CoinRow, { confirmations }: Coin): boolean {
  return !locked && confirmations >= Math.max(own_change ? 0 : 1, maturity);
}

/** The coin of an outpoint, spent or not; undefined if it is not ours. */
export function coinAt(reader: Reader, chain: ChainRuntime, outpoint: string): AnyCoinRow | undefined {
  return reader.get(coinByOutpoint, { outpoint, chain_key: chain.key });
}

/**
 * The units of an asset that open withdrawals of an account reserve, without one of them: their amounts in it, and
 * their fees in it.
 */
function heldUnits(reader: Reader, accountId: number, asset: AssetId, except: number | null): bigint {
  return reader
    .all(heldWithdrawals, { account_id: accountId })
    .filter(({ id }) => id !== except)
    .reduce((sum, row) => {
      // a sweep's fee is part of its amount if both are the same asset
      const fee = row.sweep && row.fee_asset === row.asset ? (row.fee ?? 0n) : row.fee_held;
      const units = row.asset === asset && isCounted(reader, row) ? row.units : 0n;
      return sum + units + (row.fee_asset === asset ? fee : 0n);
    }, 0n);
}

/** Whether the balance has what a withdrawal takes. A deposit that is to be sent back may be in no block, and is not planned before. */
function isCounted(reader: Reader, { outpoint, spend_id, chain_key }: WithdrawalRow): boolean {
  if (outpoint === null || spend_id !== null) return true;
  return reader.get(creditByOutpoint, { outpoint, chain_key })?.counted === true;
}

/** Whether a withdrawal takes everything that there is, and not only a deposit. */
export const takesAll = ({ sweep, outpoint }: Pick<WithdrawalRow, 'sweep' | 'outpoint'>): boolean =>
  sweep && outpoint === null;

/**
 * The most that a withdrawal of everything may take, because what other open withdrawals reserve is not its own. Null: they reserve
 * nothing.
 */
export function sweepLimit(
  reader: Reader,
  { account_id, asset, id }: Pick<WithdrawalRow, 'account_id' | 'asset' | 'id'>,
): bigint | null {
  return heldUnits(reader, account_id, asset, id) === 0n ? null : availableUnits(reader, account_id, asset, id);
}

/** The units that an account can still withdraw: its coins less reservations; at least 0. */
export function availableUnits(
  reader: Reader,
  accountId: number,
  asset: AssetId,
  except: number | null = null,
): bigint {
  const total = reader.get(balanceOf, { account_id: accountId, asset })?.units ?? 0n;
  const left = total - heldUnits(reader, accountId, asset, except);
  return left > 0n ? left : 0n;
}

/** Whether a new credit is the change of a transaction of ours, which counts before it confirms. */
export function isOwnChange(reader: Reader, target: TargetRow, txid: string): boolean {
  if (target.branch !== 1) return false;
  const version = reader.get(versionByTxid, { txid, chain_key: target.chain_key });
  // the sender of an unconfirmed deposit can still take it back, so a bump's output does not count yet
  return version !== undefined && reader.get(spendById, { id: version.spend_id })?.purpose === 'pay';
}
