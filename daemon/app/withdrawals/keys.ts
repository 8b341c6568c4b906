/** The stored state of a conflict key, and who has reserved it. Only this file knows where each kind of key is stored. */
import { isNonceKey } from '../../domain/spend.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import { usedKey } from '../../store/queries/used-keys.ts';
import { spendsOfKey, spendsOfTransaction, versionByTxid, versionsOf } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';

export type KeyState = {
  /** Whether it can be used: its coin is on the chain, or in the mempool. */
  isThere: boolean;
  /** The transaction that used it; null: none did. */
  usedBy: string | null;
  /** The block that holds that transaction; null: none does. */
  block: { height: number; hash: string } | null;
  /** Whether that transaction had no effect but its fee. */
  failed: boolean;
  /** The unconfirmed transaction of ours whose change it is; null: it is no such change. */
  changeOf: string | null;
};

/** Null if the key is unknown. */
export function keyState(reader: Reader, { key: chain_key }: { key: string }, key: string): KeyState | null {
  if (isNonceKey(key)) {
    const use = reader.get(usedKey, { conflict_key: key, chain_key });
    const block = blockOf(use?.block_height ?? null, use?.block_hash ?? null);
    return { isThere: true, usedBy: use?.txid ?? null, block, failed: use?.failed ?? false, changeOf: null };
  }
  const coin = reader.get(creditByOutpoint, { outpoint: key, chain_key });
  if (!coin) return null;
  return {
    isThere: !coin.gone,
    usedBy: coin.spent_txid,
    block: blockOf(coin.spent_block_height, coin.spent_block_hash),
    failed: false,
    changeOf: coin.own_change && coin.block_height === null ? coin.txid : null,
  };
}

const blockOf = (height: number | null, hash: string | null): KeyState['block'] =>
  height === null || hash === null ? null : { height, hash };

/** The spend that has reserved a conflict key, other than `except`; null if it is free. */
export function reservedBy(reader: Reader, chain: { key: string }, key: string, except: number): number | null {
  const spends = reader.all(spendsOfKey, { conflict_key: key, chain_key: chain.key });
  return spends.find(({ id }) => id !== except)?.id ?? null;
}

/**
 * Whether a version of a spend may use a key: it exists, at most unconfirmed `own` transactions use it, and no other spend has
 * reserved it. `spendId`: 0 for a new spend.
 */
export function isUsable(
  reader: Reader,
  chain: { key: string },
  key: string,
  spendId: number,
  own: ReadonlySet<string | null> = NONE,
): boolean {
  const state = keyState(reader, chain, key);
  if (!state?.isThere || state.block !== null) return false;
  const { usedBy, changeOf } = state;
  if (changeOf !== null && !isSoleChange(reader, chain, changeOf)) return false;
  return (usedBy === null || own.has(usedBy)) && reservedBy(reader, chain, key, spendId) === null;
}

const NONE: ReadonlySet<string | null> = new Set();

/** Whether an unburied transaction of ours spends an output to us of another one. */
export function hasDescendant(reader: Reader, chain: { key: string }, txid: string): boolean {
  const range = { from: `${txid}:`, to: `${txid};`, chain_key: chain.key };
  return reader.all(spendsOfTransaction, range).length > 0;
}

/**
 * Whether change is as certain as its transaction: no other version can confirm instead. No new version is made,
 * because a transaction with a spent output of ours is not replaced.
 */
export function isSoleChange(reader: Reader, chain: { key: string }, txid: string): boolean {
  const version = reader.get(versionByTxid, { txid, chain_key: chain.key });
  return version !== undefined && reader.all(versionsOf, { spend_id: version.spend_id }).length === 1;
}

/** Whether every key that must be used before a plan's transaction is used, or has a signed transaction. */
export function isInOrder(reader: Reader, chain: { key: string }, keysBefore: readonly string[]): boolean {
  return keysBefore.every((conflict_key) => {
    const key = { conflict_key, chain_key: chain.key };
    return reader.get(usedKey, key) !== undefined || reader.all(spendsOfKey, key).some(({ txid }) => txid !== null);
  });
}
