/** Decodes a transaction for the operator's own program, separately for each family of chains. */
import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import { isUtxo } from '../wallet/signer/wire.ts';
import type { OperatorKeys } from '../wallet/wallet.ts';
import { utxoReading } from './utxo.ts';

/** An output of a transaction. `to`: the destination in the form in which the family compares them. */
export type Output = { to: string; units: bigint };

/** The content of a transaction's bytes. `keys`: its conflict keys, which are the outpoints of coins. */
export type Bytes = { keys: string[]; outputs: Output[] };

export type Reading = {
  chain: ChainId;
  /** The asset of its outputs. */
  asset: AssetId;
  feeAsset: AssetId;
  /** The destination that an address stands for; null: it is no address of this chain and network. */
  destination(address: string): string | null;
  /** Throws `Rejected('review.differs')` for bytes that are not an unsigned transaction. */
  bytes(raw: string | null): Bytes;
  /** The highest fee that the signer accepts. `toSelf`: the transaction pays only ourselves. */
  feeLimit(bytes: Bytes, toSelf: boolean): bigint;
  /** The destination of our own change address at an index. */
  change(keys: OperatorKeys, accountNo: number, index: number): string;
};

/** Null if transactions of this chain are not signed. */
export function readingOf(chain: ChainId, network: Network): Reading | null {
  return isUtxo(chain) ? utxoReading(chain, network) : null;
}

export const differs = (why: string): Rejected =>
  new Rejected('review.differs', `Nothing was approved. What the service shows is not what would be signed: ${why}`);
