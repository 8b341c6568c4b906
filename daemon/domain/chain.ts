/** The facts that chain adapters report, relative to a checkpoint. `app/chains/ingest.ts` applies them. */

import type { ChainId, Network } from './assets.ts';
import type { Amount } from './money.ts';
import { MS_PER_HOUR } from './time.ts';

export type BlockId = { height: number; hash: string };

/** The newest blocks known to be on the chain, ascending by height and never empty: enough to find a fork. */
export type Checkpoint = BlockId[];

/** The maximum number of blocks in a checkpoint. */
export const CHECKPOINT_BLOCKS_MAX = 120;

/**
 * The public part of an account, from which the daemon derives addresses. `secp256k1`: the BIP-32 node at the account
 * level (hex). `monero`: the private view key and the public spend key (hex); `watch`: the spend key is in another wallet.
 */
export type AccountKey =
  | { kind: 'secp256k1'; publicKey: string; chainCode: string; watch?: WatchOnly }
  | { kind: 'monero'; privateViewKey: string; publicSpendKey: string; watch?: true };

/** The kinds of script that one key can have: BIP-44, BIP-49, BIP-84 and BIP-86. */
export const SCRIPT_FORMS = ['p2pkh', 'p2sh-p2wpkh', 'p2wpkh', 'p2tr'] as const;
export type ScriptForm = (typeof SCRIPT_FORMS)[number];

/**
 * An account whose private keys are in another wallet. `form`: of its addresses; null on a chain of accounts, which has no scripts.
 * `origin`: BIP-380's key origin, the master key's fingerprint and the path to the account, such as 84h/0h/0h; null: the key came
 * without one.
 */
export type WatchOnly = { form: ScriptForm | null; origin: { fingerprint: string; path: string } | null };

/** Whether the private keys of an account are in another wallet, so that nothing here can sign for it. */
export const isWatchOnly = (key: AccountKey): boolean => key.watch !== undefined;

/** `script` is searched for on the chain: a scriptPubKey, or the bytes of the address. */
export type DerivedAddress = { script: Uint8Array; address: string };

/** 0 for addresses given to payers, 1 for our own change (BIP-44). */
export type Branch = 0 | 1;

/** Money received at one of our addresses. `id`: the outpoint, "txid:n", unique on its chain. */
export type Credit = {
  id: string;
  txid: string;
  targetId: number;
  amount: Amount;
  /** The block that contains it; null while it is unconfirmed. */
  block: BlockId | null;
  /**
   * The time of the block, milliseconds since 1970. With `block` null: of a block that a second source has not confirmed
   * yet.
   */
  blockTime?: number;
  /** The outpoints that its transaction spends, at most INPUTS_KEPT_MAX. They identify a replacement. */
  inputs: string[];
  /** The transaction that paid from inside a contract, for display only. `txid` is the block's hash then. */
  viaTxid?: string;
  /**
   * The transaction without witnesses, only with a block. It is stored for the day when the credit is spent, when a
   * pruned node may no longer have it.
   */
  base?: Uint8Array;
  /** False only if the source proved that neither it nor an unconfirmed ancestor allows replacement. */
  replaceable?: boolean;
  /** Confirmations before it may be spent: 100 for a coinbase, 6 for a peg-out, 10 for any output of Monero. */
  maturity?: number;
  /** True for an output with an unlock time. It never counts. */
  locked?: boolean;
  /**
   * True on an account chain if an address of the same account sent it: a debit with the same id, but for a number
   * behind, is `moved`. This never changes for an id.
   */
  moved?: boolean;
};

export const INPUTS_KEPT_MAX = 100;

/**
 * Outputs of one unconfirmed transaction that are reported and stored; the rest follow with its block. A sender can add
 * outputs almost for free. Which outputs are chosen is the same every time.
 */
export const OUTPUTS_PER_UNCONFIRMED_MAX = 50;

/**
 * `txid` spends a conflict key of ours: a coin, by its outpoint; on a chain of accounts the nonce of an address, as the
 * plans of that chain write it.
 */
export type SpendSeen = {
  outpoint: string;
  txid: string;
  block: BlockId | null;
  /** The time of the block, milliseconds since 1970; only with a block. */
  blockTime?: number;
  /** The fee of the transaction, smallest units, if it states one and a single wallet made all of it. */
  fee?: bigint;
  /** True if the transaction is in a block, used the nonce, and had no other effect than its fee. */
  failed?: boolean;
};

/**
 * `paid`: to others, and to addresses of other accounts. `fee`: to the network. `moved`: to an address of the same
 * account; there it arrives as a credit with the same id, or with a number behind it. `adopted`: no transaction; the operator took the chain's balance over.
 */
export type DebitKind = 'paid' | 'fee' | 'moved' | 'adopted';

/** Money that left an address of ours on a chain of accounts. Coin chains tell spent coins instead. */
export type Debit = {
  /** Unique on its chain, and begins with the transaction's id and a colon: "txid:logindex". */
  id: string;
  txid: string;
  /** The address that it left. */
  targetId: number;
  kind: DebitKind;
  /** Above 0; a fee has the asset that it is paid in. */
  amount: Amount;
  block: BlockId | null;
  /** That block's time, milliseconds since 1970; only with a block. */
  blockTime?: number;
};

/**
 * A transfer of a token that this program does not know, to an address of ours, as one endpoint says. `symbol` and
 * `decimals`: by the contract's own statement, the symbol safe to show; null if it makes none.
 */
export type UnknownTransfer = {
  targetId: number;
  /** Lower-case hex with 0x. */
  contract: string;
  txid: string;
  height: number;
  units: bigint;
  symbol: string | null;
  decimals: number | null;
};

/**
 * The transaction of a deposit for display. A native coin sent from inside a contract has none by itself: then an endpoint
 * may have named the transaction, or the block's hash stands for it.
 */
export const shownTransaction = (
  row: Readonly<{ txid: string; via_txid: string | null; block_hash: string | null }>,
): { tx_id: string; internal?: true } => ({
  tx_id: row.via_txid ?? row.txid,
  ...(row.txid === row.block_hash && { internal: true }),
});

/**
 * `to`: the highest block that was searched. `isWhole`: up to the tip. `newest`: key images that were learned later
 * than this were not searched for; milliseconds since 1970.
 */
export type Searched = { to: number; newest: number; isWhole: boolean };

export type ChainUpdate = {
  /** The tip of the checkpoint that the adapter was given. The update is valid only against it. */
  since: BlockId;
  checkpoint: Checkpoint;
  /** Blocks of the old checkpoint that left the chain. */
  orphaned: BlockId[];
  /** The target ids that this update covers. It says nothing about others. */
  targets: 'all' | number[];
  /**
   * 'complete': credits, spends and debits contain every relevant unconfirmed transaction at the checkpoint's tip.
   * 'unknown': some may be missing, so their absence proves nothing.
   */
  mempool: 'complete' | 'unknown';
  credits: Credit[];
  spends: SpendSeen[];
  /** Only of a chain of accounts. */
  debits?: Debit[];
  /**
   * The median time of the checkpoint's tip (BIP-113), milliseconds since 1970. It does not depend on this machine's
   * clock. Absent where blocks have no time of their own, as on test chains.
   */
  tipMedianTime?: number;
  /** The height up to which no block can leave the chain any more. Absent or null: the source does not tell. */
  finalized?: number | null;
  /** Only of a chain of accounts. */
  unknownTransfers?: readonly UnknownTransfer[];
  /** The search for spends of coins whose key images became known late; absent: no block was searched. */
  searched?: Searched;
  /** Whether an immediate further sync has something to report; absent: if this one moved the tip. */
  more?: boolean;
};

/**
 * How far a block's time may be ahead of the network's (MAX_FUTURE_BLOCK_TIME of Bitcoin, Litecoin and Bitcoin Cash).
 */
export const BLOCK_TIME_AHEAD_MAX_MS = 2 * MS_PER_HOUR;

/** `blocks_only`: it has no mempool. `old_litecoin`: it accepts coins that a block invents, or can be stopped by such a block. */
export type SourceConcern = 'blocks_only' | 'old_litecoin';

export type SourceHealth = {
  /** The name of the source, without credentials. */
  source: string;
  tip: BlockId | null;
  /** Milliseconds since the time of the tip's block; null if unknown. */
  tipAgeMs: number | null;
  /** True if the source says that it is behind (initial block download), or if its tip is too old. */
  lagging: boolean;
  /** The last failure, for the operator; null while the source answers. */
  error: string | null;
  /** Faults that the operator should mend although it answers; left out: none. */
  concerns?: readonly SourceConcern[];
};

/** `dropped`: it misbehaved and is not used for a while. */
export const SERVER_STATES = ['idle', 'connecting', 'ready', 'waiting', 'dropped'] as const;

/** One of several servers of a source. */
export type SourceServer = {
  name: string;
  state: (typeof SERVER_STATES)[number];
  /** Whether requests go to this server. */
  asked: boolean;
  /** Its software and protocol; null while it is not connected. */
  software: string | null;
  tip: BlockId | null;
  /** Blocks behind the chain with the most work; null on another branch or while not connected. */
  behind: number | null;
  /** Running mean; null before its first answer. */
  latencyMs: number | null;
  /** Addresses subscribed on it. */
  watched: number;
  failures: number;
  /** Whether it has answered late in the last seconds, or refused for the cost. Absent: not measured. */
  slowed?: boolean;
  error: string | null;
};

/** How many operators run the servers of a source, and those of them that answer at the tip. */
export type Operators = { named: number; speaking: number };

export type ChainKey = `${Network}:${ChainId}`;
export const networkOf = (key: string): Network => key.slice(0, key.indexOf(':')) as Network;
export const chainOf = (key: string): ChainId => key.slice(key.indexOf(':') + 1) as ChainId;

export const chainKey = (network: Network, chain: ChainId): ChainKey => `${network}:${chain}`;
