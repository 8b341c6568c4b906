/** A chain as the withdrawals' tests drive it: with one of coins (`pay-chain.ts`), or one of the sandbox's (`pay-sandbox.ts`). */
import type { ChainAdapter } from '../../../daemon/chains/adapter.ts';
import type { AssetId, ChainId } from '../../../daemon/domain/assets.ts';
import type { AccountKey, DerivedAddress } from '../../../daemon/domain/chain.ts';
import type { Store } from '../../../daemon/store/store.ts';

/** A payment to us. */
export type Deposit = { txid: string };

export interface PayNetwork<D extends Deposit = Deposit> {
  readonly chain: ChainId;
  /** What is deposited and withdrawn. */
  readonly asset: AssetId;
  /** One of it, smallest units. */
  readonly coin: bigint;
  readonly account: AccountKey;
  /** Settings of the service on it. */
  readonly flags?: Record<string, string>;
  /** The transactions that its node was offered. */
  readonly offered: string[];
  /** The reason for which its node refuses a transaction, before it looks at it. */
  refuses: ((tx: { txid: string; raw: string }) => Promise<string | null> | string | null) | null;
  /** An account chain pays from one address, so deposits come to the same few. */
  readonly reusesAddresses: boolean;
  /** The same chain as it is now, with what its node knows, for another service. Not connected. */
  copy(): PayNetwork<D>;
  connect(store: Store, now: () => number): ChainAdapter;
  readonly adapter: ChainAdapter;
  /** An address that is not ours. */
  stranger(index: number): string;
  /** Pays an address of ours; it waits in the mempool. */
  deposit(to: DerivedAddress, units: bigint): Promise<D> | D;
  /** Takes a transaction as its node does. Throws `Rejected`. */
  take(raw: string): Promise<void> | void;
  /** Mines blocks; the first has all that is in the mempool. */
  mine(count?: number): Promise<void> | void;
  /** The last blocks give way to longer ones without these deposits; `killed`: the first block makes them impossible. */
  undo(depth: number, dropped: readonly D[], killed?: readonly D[]): Promise<void> | void;
  /** A deposit that was dropped is sent once more. Throws `Rejected` if it cannot be. */
  again(deposit: D): Promise<void> | void;
  /** A block makes a deposit impossible. */
  kill(deposit: D): Promise<void> | void;
  /** A node forgets a transaction of the mempool, and those that spend from it. */
  forget(txid: string): Promise<void> | void;
  /** Transactions in the mempool. */
  waiting(): string[];
  /** The blocks on top of a transaction's, its own included; 0: it is in none. */
  depthOf(txid: string): number;
  /** Whether a block made a deposit impossible. */
  isDead(deposit: D): boolean;
  /** Whether a transaction with this conflict key needs the deposit. */
  feeds(deposit: D, conflictKey: string): boolean;
  /** The transactions in blocks that pay an address, once for each payment. */
  paidTo(address: string): string[];
  /** What blocks give us of the asset and take from us, smallest units. */
  unspent(): bigint;
}
