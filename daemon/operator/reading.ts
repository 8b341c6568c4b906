/** The content of a transaction as the operator's own program reads it, the same for every family of chains. */
import type { AssetId, ChainId } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import type { Authorization } from '../wallet/signer/port.ts';

/** An output of a transaction. `to`: the destination in the form in which the family compares them. */
export type Output = { to: string; units: bigint };

/**
 * The content of a transaction's bytes. `keys`: the outpoints of the coins that it spends; none on a chain of accounts.
 * `fee`: the highest fee, where the bytes state one.
 */
export type Bytes = { keys: string[]; outputs: Output[]; fee?: bigint; gasLimit?: bigint };

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
  /** The claim that a destination is our own change address at an index. The holder of the keys checks it. */
  change(accountNo: number, claimed: { index: number; to: string }): NonNullable<Authorization['change']>;
};

export const differs = (why: string): Rejected =>
  new Rejected(
    'review.differs',
    `Nothing was approved. The service shows another transaction than the one that would be signed: ${why}`,
  );
