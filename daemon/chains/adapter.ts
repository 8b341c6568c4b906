/**
 * The interface between the program and a chain. An adapter reports current facts. It keeps no state that a restart
 * would lose, decides nothing about payments, and reads the store only through the given lookups.
 */
import type { AssetId, ChainId, Network } from '../domain/assets.ts';
import type {
  AccountKey,
  BlockId,
  Branch,
  ChainUpdate,
  Checkpoint,
  Credit,
  Debit,
  DerivedAddress,
  Operators,
  SourceHealth,
  SourceServer,
  SpendSeen,
} from '../domain/chain.ts';
import type { Spending } from './spending.ts';

/** Lookups in the store's indexed tables: their cost does not grow with the number of rows. */
export interface WatchList {
  /** The target id of this script, or undefined. Synchronous, because it is called for every output of a block. */
  targetIdOf(script: Uint8Array): number | undefined;
  /** Account chains: the account of a target. A transfer between targets of one account is `moved`. Synchronous. */
  accountOf(targetId: number): number | undefined;
  /** Whether "txid:n" is a coin of ours. Synchronous, because it is called for every input of a block. */
  isOurCoin(outpoint: string): boolean;
}

/** A script to watch: its target id and scriptPubKey. */
export type ListedScript = { id: number; script: Uint8Array };

/** The meaning of a credit's id, and the block in which it is. */
export type MeantCredit = Pick<Credit, 'id' | 'targetId' | 'amount' | 'moved' | 'block'>;

/** A coin as the store has it. A null block: the adapter reported no block for it. */
export type StoredCoin = {
  targetId: number;
  outpoint: string;
  txid: string;
  asset: AssetId;
  units: bigint;
  blockHeight: number | null;
  blockHash: string | null;
  /** Whether it never counts (`Credit.locked`). */
  locked: boolean;
  spentTxid: string | null;
  spentBlockHeight: number | null;
  spentBlockHash: string | null;
};

/**
 * The lookups of a source that must name the scripts it asks for. Every method uses an index and reads at most one
 * page. `active` is iterated page by page, so that other work can run in between.
 */
export interface ScriptList extends WatchList {
  /** A value that changes whenever `active` may have changed; cheap enough for several calls a second. */
  stamp(): string;
  /**
   * Pages of scripts with expected, unconfirmed or new money: open payments, credits and spends that blocks can still
   * change, the latest addresses given out, and the next ones. The most urgent come first, because a source that cannot
   * watch all of them polls the others. A script may occur more than once.
   */
  active(): Iterable<ListedScript[]>;
  /** Scripts of any age with ids above `after`, by id. */
  page(after: number, limit: number): ListedScript[];
  /** Scripts with a credit or a spend in this block. */
  inBlock(hash: string): ListedScript[];
  /**
   * The hashes of blocks above the checkpoint of which facts are stored, because an update is not stored to its end.
   * They may have left the chain, and no checkpoint names them any more. Absent: there are none.
   */
  ahead?(): readonly string[];
  /** Whether a target ever had a coin, present or not. */
  hadMoney(targetId: number): boolean;
  /** Every coin that a target ever had. */
  coinsOf(targetId: number): StoredCoin[];
  coin(outpoint: string): StoredCoin | undefined;
  /** Whether coins of a transaction are still missing, because the update that brought them is not stored to its end. Absent: none are. */
  isPartial?(txid: string): boolean;
  /**
   * The credits under an id, and under it with a number behind, present or not. The meaning of an id never changes.
   * Absent: nothing is stored.
   */
  underId?(id: string): MeantCredit[];
  /** Pages of coins that are in no block, or whose spending transaction is in none. Absent: nothing is stored. */
  pending?(): Iterable<StoredCoin[]>;
  /** Account chains: the account of a target. A transfer between targets of one account is `moved`. Synchronous. */
  accountOf(targetId: number): number | undefined;
  /** Account chains: the amount of an asset that an address holds by the stored entries, smallest units. */
  unitsAt(targetId: number, asset: AssetId): bigint;
  /** Account chains: the amounts that left an address in blocks. */
  debitsAt(targetId: number, asset: AssetId): StoredDebit[];
  /** Account chains: the nonces that open payments have reserved. */
  openNonces(): OpenNonce[];
  /** Account chains: whether another wallet has the keys of a target, which moves its money unasked. Absent: none has. */
  isOutside?(targetId: number): boolean;
  /** Account chains: targets that hold an asset by the stored entries, of each account those with the most. `isOutside`: see there. */
  holders?(asset: AssetId): (ListedScript & { isOutside: boolean })[];
  /** The outpoint of the coin of ours that a key image spends. Absent where no chain has key images. */
  coinOfKeyImage?(keyImage: string): string | undefined;
  /**
   * The blocks to be searched for spends of coins whose key images became known after the blocks were read: the lowest one, and
   * when the newest of these key images was learned. Null: none. Absent where no chain has key images.
   */
  unsearched?(): { from: number; newest: number } | null;
  /**
   * Chains that recognise a payment to an account before its address is known: called for an address that is not in the list. The
   * list may add addresses of the account meanwhile. Absent: it has every address that counts.
   */
  paidElsewhere?(account: AccountKey): Promise<void>;
}

export type StoredDebit = { id: string; units: bigint; block: BlockId };

/**
 * `key`: its conflict key. `txids`: the signed transactions that use it. `usedIn`: the hash of the block that has one;
 * null: none is known.
 */
export type OpenNonce = {
  target: ListedScript;
  key: string;
  nonce: bigint;
  txids: string[];
  usedIn: string | null;
};

export interface ChainAdapter {
  readonly network: Network;
  readonly chain: ChainId;
  /** The assets of its chain that it supports; absent: all. */
  readonly assets?: readonly AssetId[];
  /** Sends and looks up our own transactions; absent where the chain cannot pay out yet. */
  readonly spending?: Spending;
  /** True for an account chain: money is the balance of an address, and updates report debits and used nonces. */
  readonly accountBased?: boolean;
  /** Only of a source with servers of several operators: deadlines wait for their answer. */
  readonly absence?: AbsenceSource;
  /** Of a source with servers: how many operators run those that are named, and how many of them speak at present. */
  operators?(): Operators;
  /** Only on chains of coins; absent where the chain is simulated. */
  readonly holdings?: HoldingsSource;
  /** Only on chains of accounts; absent where the chain is simulated. */
  readonly balances?: BalancesSource;
  /** Only on chains of accounts; absent where the chain is simulated. */
  readonly witnesses?: Witnesses;

  /** The address at an index, from public keys alone. Throws on an index above 2^31 - 1. */
  deriveAddress(account: AccountKey, branch: Branch, index: number): Promise<DerivedAddress>;

  /** Whether this text is an address on this network. Case, checksum and network are checked. */
  isValidAddress(text: string): boolean;

  /** Why money sent to a valid address would be lost, as the end of a sentence; null: it would not be. Absent: it never is. */
  whyUnpayable?(address: string): string | null;

  /**
   * A checkpoint to start from: the tip, or the last block before `birthday` (milliseconds since 1970). Throws
   * `Unavailable` if the source does not answer, `Rejected` if it does not reach back that far.
   */
  begin(birthday: number | null, signal: AbortSignal): Promise<Checkpoint>;

  /**
   * The changes since the last block of `since`. A long way takes several bounded steps: an update that has not reached
   * the tip says `mempool: 'unknown'`, and the caller calls again. Null if the source is behind the checkpoint without
   * contradicting it. Throws `Unavailable` if the source does not answer.
   */
  sync(since: Checkpoint, signal: AbortSignal): Promise<ChainUpdate | null>;

  /** The time of a block, milliseconds since 1970; null: there is none of this height yet. Throws `Unavailable`. */
  blockTime?(height: number, signal: AbortSignal): Promise<number | null>;

  /** Registers a function that is called when something may have changed. Hints carry no data and may be false. */
  onHint(wake: () => void): void;

  health(): SourceHealth;

  /** The servers of the source, if it has several. */
  servers?(): SourceServer[];

  /** True if spends of ours are seen by key images, which only the signer can compute. */
  readonly keyImages?: boolean;

  /** True if it recognises what is paid to an account before the address is known, and then calls `paidElsewhere` of its list. */
  readonly knowsAccounts?: boolean;

  /** Searches every address again soon; absent if the source cannot overlook anything. */
  rescan?(): void;

  /** Whether that search is running, or could not start. */
  rescanning?(): boolean;

  /** The part of that search that is done, from 0 to 1. */
  rescanned?(): number;

  /**
   * The addresses that were ever used, if the source tells that without reading blocks: by a balance, a transaction sent, or a
   * history. Absent: only blocks show it. Throws `Unavailable`.
   */
  areUsed?(scripts: readonly Uint8Array[], signal: AbortSignal): Promise<boolean[]>;

  /** Ends timers and connections. To be called last. */
  close(): Promise<void>;
}

/** An account with the number of watched addresses of each branch. */
export type WatchedAccount = { key: AccountKey; receiving: number; change: number };

/** An output in a block that no block spends. */
export type HeldCoin = { outpoint: string; units: bigint; height: number };

/** The coins that a source has for some accounts, as of one block. */
export type Holdings = {
  /** The block as of which coins are reported. */
  tip: BlockId;
  /** The source's tip after the reading. Coins spent in blocks above `tip` up to this one may be missing. */
  until: BlockId;
  coins: HeldCoin[];
  /** Targets whose coins the source does not report. */
  untold: readonly number[];
  /** Whether coins spent by unconfirmed transactions are missing. */
  lessMempool: boolean;
};

/** One server may keep a payment back. So a deadline counts only when two operators show nothing. */
export interface AbsenceSource {
  /**
   * Asks servers of different operators whether a block pays a script what the store does not have. Returns the names of two
   * that show nothing; null if one proves more, or if not enough of them answer. Throws `Unavailable`.
   */
  showNothing(script: ListedScript, signal: AbortSignal): Promise<readonly string[] | null>;
}

/** The amount that an address holds of an asset, in smallest units. */
export type HeldBalance = { targetId: number; address: string; asset: AssetId; units: bigint };

/** `held`: after the block `tip`. */
export type Balances = { tip: BlockId; held: HeldBalance[] };

/** The source's own record of balances, against which the program's books are compared. */
export interface BalancesSource {
  /** Of every address that ever had money. May take minutes. Throws `Unavailable`. */
  read(signal: AbortSignal): Promise<Balances>;
}

/** A transaction in a block that took something from an address of ours, or used its nonce, by the books. */
export type BookedSending = { txid: string; block: BlockId; target: ListedScript };

/** The facts of a transaction as they are now: none where no block has it. */
export type SentAgain = { spends: SpendSeen[]; debits: Debit[] };

/** `nonce`: how many transactions an address has sent. `units`: what it holds of each asset of its chain. */
export type Standing = { nonce: bigint; units: ReadonlyMap<AssetId, bigint> };

/**
 * Facts of a chain of accounts that the books have, asked for again. Where there are several operators, an answer is what two of
 * them say alike. Null: no two say the same, or they cannot tell. Throws `Unavailable`.
 */
export interface Witnesses {
  sent(booked: readonly BookedSending[], signal: AbortSignal): Promise<(SentAgain | null)[]>;
  /** Whether these coins came in the blocks that they are stored with. */
  came(coins: readonly StoredCoin[], signal: AbortSignal): Promise<(boolean | null)[]>;
  /** After a block. */
  standing(targets: readonly ListedScript[], block: BlockId, signal: AbortSignal): Promise<(Standing | null)[]>;
}

/** The source's own record of unspent coins, against which the program's books are compared. */
export interface HoldingsSource {
  /** Every coin of these accounts' addresses. May take minutes. Throws `Unavailable`. */
  coins(accounts: readonly WatchedAccount[], signal: AbortSignal): Promise<Holdings>;
}

/**
 * Queries about our own transactions at a source, and sending them. `Spending` makes them. `broadcast` sends the bytes as
 * they were stored. Real chains write transactions in hex, simulated ones in JSON.
 */
export interface SpendingSource {
  /**
   * Smallest units per 1,000 units of size for a first confirmation within `targetBlocks` (1 to 1,008), between the
   * chain's floor and ceiling. A source that has no estimate gives the chain's fallback. Throws `Unavailable` when the
   * source does not answer.
   */
  feeRate(targetBlocks: number, signal: AbortSignal): Promise<bigint>;

  /**
   * A transaction without its witnesses: the bytes whose hash is its id, which was checked. `blockHash`: of its block;
   * null while it is unconfirmed. Throws `Unavailable` when the source does not have it (a pruned node has no old
   * ones), on an account chain `Rejected('spend.malformed')` for a kind that only other programs make.
   */
  transaction(txid: string, blockHash: string | null, signal: AbortSignal): Promise<string>;

  /**
   * Sends a signed transaction to the source. Idempotent: a transaction that the source has already, in its mempool or
   * in a block, is a success. Throws `Rejected('broadcast.refused', reason)` if the source refuses it, which other
   * nodes may not do, and `Unavailable` if the outcome is not known.
   */
  broadcast(raw: string, signal: AbortSignal): Promise<void>;
}

/** The further queries of coin chains. */
export interface CoinSource extends SpendingSource {
  /**
   * The total fee (smallest units) and size (virtual bytes) of an unconfirmed transaction and its unconfirmed
   * ancestors, for a child that pays for them (CPFP). Null when the transaction is not in the mempool. Throws
   * `Unavailable`.
   */
  unconfirmed(txid: string, signal: AbortSignal): Promise<{ fee: bigint; vsize: number } | null>;

  /**
   * Another transaction in a block that spends one of this one's inputs (outpoints), so that this one can never confirm.
   * `fromHeight`: no such block is below it. Null when none was found so far: a long search goes on with the next call. Throws
   * `Unavailable`; a source with several servers needs the same answer from two of them.
   */
  conflict(
    txid: string,
    inputs: readonly string[],
    fromHeight: number,
    signal: AbortSignal,
  ): Promise<{ txid: string; block: BlockId } | null>;
}

export function tipOf(checkpoint: Checkpoint): BlockId {
  const tip = checkpoint.at(-1);
  if (!tip) throw new Error('assertion failed: a checkpoint is never empty');
  return tip;
}

/** The highest id of a list, or 0: by bisection, because a list can only be read forwards. */
export function highestId(list: ScriptList): number {
  const isAbove = (id: number): boolean => list.page(id, 1).length > 0;
  if (!isAbove(0)) return 0;
  let low = 1;
  while (isAbove(low)) low *= 2;
  let high = low;
  for (low = Math.floor(low / 2); low < high; ) {
    const middle = Math.floor((low + high) / 2);
    if (isAbove(middle)) low = middle + 1;
    else high = middle;
  }
  return high;
}
