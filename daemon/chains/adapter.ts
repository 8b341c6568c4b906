/**
 * The one interface between the program and a chain. An adapter reports what is true now; it keeps no state that a
 * restart would miss, decides nothing about payments, and reaches the store only through the lookups it is given.
 */

import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import type {
  AccountKey,
  BlockId,
  Branch,
  ChainUpdate,
  Checkpoint,
  DerivedAddress,
  SourceHealth,
  SourceServer,
} from '../domain/chain.ts';
import type { Spending } from './spending.ts';

/** Lookups in the store's indexed tables: their cost does not grow with the number of rows. */
export interface WatchList {
  /** The id of the target that has this script, or undefined. Synchronous: called for every output of a block. */
  targetIdOf(script: Uint8Array): number | undefined;
  /** Whether a coin of ours has this outpoint ("txid:n"). Synchronous: called for every input of a block. */
  isOurCoin(outpoint: string): boolean;
}

/** A script to be watched: its target's id, and the scriptPubKey. */
export type ListedScript = { id: number; script: Uint8Array };

/** What the store has of a coin: the blocks are those that it was told, null while there is none. */
export type StoredCoin = {
  targetId: number;
  outpoint: string;
  txid: string;
  asset: AssetId;
  units: bigint;
  blockHeight: number | null;
  blockHash: string | null;
  spentTxid: string | null;
  spentBlockHeight: number | null;
  spentBlockHash: string | null;
};

/**
 * The same for a source that must name what it looks for. Every method reads an index, and a page of bounded length at
 * the most; `active` is walked page by page, so that others have a turn in between.
 */
export interface ScriptList extends WatchList {
  /** Another text whenever `active` may have something new; cheap enough to be asked several times a second. */
  stamp(): string;
  /**
   * Pages of the scripts where money is expected, under way or new: open payments, credits and spends that blocks can
   * still change, the latest addresses given out, and those that come next. The most urgent come first: a source that
   * cannot watch all of them watches those, and looks at the others by turns. A script may come more than once.
   */
  active(): Iterable<ListedScript[]>;
  /** Scripts of whatever age in a fixed order, above an id. */
  page(after: number, limit: number): ListedScript[];
  /** Scripts of which a credit or a spend is in this block. */
  inBlock(hash: string): ListedScript[];
  /** Whether a target ever had a coin, though it may be gone. */
  hadMoney(targetId: number): boolean;
  /** Every coin that a target ever had. */
  coinsOf(targetId: number): StoredCoin[];
  coin(outpoint: string): StoredCoin | undefined;
}

export interface ChainAdapter {
  readonly network: Network;
  readonly chain: ChainId;
  /** The assets of its chain that it can see; absent where it sees all. */
  readonly assets?: readonly AssetId[];
  /** How it takes what leaves the wallet; absent where nothing can be spent yet. */
  readonly spending?: Spending;
  /** Absent where the chain is simulated. */
  readonly holdings?: HoldingsSource;
  /** True where an address that is watched late is known from its first payment on, whatever blocks were read before. */
  readonly wholeHistories?: boolean;

  /** The target of an index, from public keys alone. Throws on an index above 2^31 - 1. */
  deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress>;

  /** Whether money can be sent to this text on this network. Case, checksum and network count. */
  isValidAddress(text: string): boolean;

  /**
   * A checkpoint to begin from: the tip, or the last block before `birthday` (milliseconds since 1970).
   * Throws `Unavailable` when the source does not answer, `Rejected` when the source cannot serve that far back.
   */
  begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint>;

  /**
   * What changed since the last of `since`. A long way is gone in bounded steps: an update that does not reach the
   * tip yet says `mempool: 'unknown'` and the caller calls again. Null when the source is behind the checkpoint
   * without contradicting it (lagging): no news. Throws `Unavailable` when the source does not answer.
   */
  sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null>;

  /** Registers what is called when something may have changed. Hints carry no data and may be spurious. */
  onHint(wake: () => void): void;

  health(): SourceHealth;

  /** Its servers one by one, where it has several. */
  servers?(): SourceServer[];

  /** Looks at every address there ever was anew, soon; absent where nothing is ever overlooked. */
  rescan?(): void;

  /** Whether that is still under way, or could not begin. */
  rescanning?(): boolean;

  /** Ends timers and connections. No call may follow. */
  close(): Promise<void>;
}

/** An account with how many addresses of each branch are watched. */
export type WatchedAccount = { key: AccountKey; receiving: number; change: number };

/** An output in a block that nothing in a block spends. */
export type HeldCoin = { outpoint: string; units: bigint; height: number };

/** What a source holds for some accounts, as of one block. */
export type Holdings = {
  /** The block as of which coins are told. */
  tip: BlockId;
  /** The source's tip once all was read: what blocks above `tip` spent up to this one may be missing. */
  until: BlockId;
  coins: HeldCoin[];
  /** Targets whose coins the source does not tell. */
  untold: readonly number[];
  /** Coins that an unconfirmed transaction spends are missing. */
  lessMempool: boolean;
};

/** The source's own books of coins, beside the blocks that it told: what our books are checked against. */
export interface HoldingsSource {
  /**
   * Every coin that these accounts' addresses hold. May take minutes. Throws `Unavailable`.
   */
  coins(accounts: readonly WatchedAccount[], signal: AbortSignal): Promise<Holdings>;
}

/**
 * What a source knows and does about transactions of ours; how they are made is `Spending`. `broadcast` sends the bytes
 * as they were stored. Real chains write transactions in hex, simulated ones in JSON.
 */
export interface SpendingSource {
  /**
   * Smallest units per 1,000 virtual bytes for a first confirmation within `targetBlocks` (1 to 1,008), between the
   * chain's floor and ceiling (`utxo/spend/fees.ts`). A source that has no estimate gives the chain's fallback.
   * Throws `Unavailable` when the source does not answer.
   */
  feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint>;

  /**
   * A transaction without its witnesses: the bytes that its id is the hash of, which was checked. `blockHash`: of the
   * block that holds it, null while it is unconfirmed. Throws `Unavailable` when the source does not have it (a pruned
   * node has no old ones).
   */
  transaction(txid: string, blockHash: string | null, signal: AbortSignal): Promise<string>;

  /**
   * What an unconfirmed transaction and its unconfirmed ancestors pay and weigh together, for a child that is to pay
   * for them (CPFP); null when it is not in the mempool. Throws `Unavailable`.
   */
  unconfirmed(txid: string, signal: AbortSignal): Promise<{ fee: bigint; vsize: number } | null>;

  /**
   * Hands a signed transaction over. Idempotent: one that the source knows already, in its mempool or in a block, is a
   * success. Throws `Rejected('broadcast.refused', reason)` when the source will not have it, which says nothing about
   * others that may, and `Unavailable` when the outcome is not known.
   */
  broadcast(raw: string, signal: AbortSignal): Promise<void>;

  /**
   * Another transaction than this one, in a block, that spends one of its inputs (outpoints): what makes it impossible for
   * good. `fromHeight`: no such block is below it. Null when none was found. Throws `Unavailable`; a source that has
   * several servers believes two of them.
   */
  conflict(
    txid: string,
    inputs: readonly string[],
    fromHeight: number,
    signal: AbortSignal,
  ): Promise<{ txid: string; block: BlockId } | null>;
}

/** The tip of a checkpoint. */
export function tipOf(checkpoint: Checkpoint): BlockId {
  const tip = checkpoint.at(-1);
  if (!tip) throw new Error('assertion failed: a checkpoint is never empty');
  return tip;
}
