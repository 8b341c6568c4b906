/** The stored state of a conflict key. Only this file knows where each kind of key is stored. */
import { isNonceKey } from '../../domain/spend.ts';
import { creditByOutpoint } from '../../store/queries/credits.ts';
import { usedKey } from '../../store/queries/used-keys.ts';
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
