/** How the operator's own program reads what is to be signed: by itself, in a way of its own for each family of chains. */
import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { isUtxo } from '../wallet/signer/wire.ts';
import type { OperatorKeys } from '../wallet/wallet.ts';
import { utxoReading } from './utxo.ts';

/** An output of a transaction. `to`: the destination in the form in which the family compares them. */
export type Output = { to: string; units: bigint };

/** What the bytes of a transaction say. `keys`: its conflict keys, the outpoints of coins. */
export type Bytes = { keys: string[]; outputs: Output[] };

export type Reading = {
  chain: ChainId;
  /** What the outputs pay. */
  asset: AssetId;
  feeAsset: AssetId;
  /** The destination that an address stands for; null: it is no address of this chain and network. */
  destination(address: string): string | null;
  /** Throws `Rejected('review.differs')` for what does not wait to be signed. */
  bytes(raw: string | null): Bytes;
  /** The most that the signer signs as its fee. `toSelf`: it pays only ourselves. */
  feeLimit(bytes: Bytes, toSelf: boolean): bigint;
  /** The destination of our own change of an index. */
  change(keys: OperatorKeys, accountNo: number, index: number): string;
};

/** Null: nothing is signed for on this chain. */
export function readingOf(chain: ChainId, network: Network): Reading | null {
  return isUtxo(chain) ? utxoReading(chain, network) : null;
}

export const differs = (why: string): Rejected =>
  new Rejected('review.differs', `Nothing was approved. What the service shows is not what would be signed: ${why}`);
