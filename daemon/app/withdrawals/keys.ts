/** What the books say of a conflict key now: here alone it matters where a kind of key is kept. */
import { creditByOutpoint } from '../../store/queries/credits.ts';
import type { Reader } from '../../store/store.ts';

export type KeyState = {
  /** Whether it can be used: its coin is on the chain, or in the mempool. */
  isThere: boolean;
  /** The transaction that used it; null: none did. */
  usedBy: string | null;
  /** The block that holds that transaction; null: none does. */
  block: { height: number; hash: string } | null;
  /** The unconfirmed transaction of ours of which it is the change; null: it is no such thing. */
  changeOf: string | null;
};

/** Null when nothing is known of the key. */
export function keyState(reader: Reader, { key: chain_key }: { key: string }, key: string): KeyState | null {
  const coin = reader.get(creditByOutpoint, { outpoint: key, chain_key });
  if (!coin) return null;
  const { spent_block_height: height, spent_block_hash: hash } = coin;
  return {
    isThere: !coin.gone,
    usedBy: coin.spent_txid,
    block: height === null || hash === null ? null : { height, hash },
    changeOf: coin.own_change && coin.block_height === null ? coin.txid : null,
  };
}
