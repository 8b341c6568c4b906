/**
 * What chain adapters report: facts of now against a checkpoint of then. Nothing here decides; `app/chains/ingest.ts` applies
 * facts and `domain/payment.ts` judges them.
 */

import type { ChainId, Network } from './assets.ts';
import type { Amount } from './money.ts';

export type BlockId = { height: number; hash: string };

/** The newest blocks known to be on the chain, ascending by height and never empty: enough of them to find a fork. */
export type Checkpoint = BlockId[];

/** How many recent blocks a checkpoint keeps at the most. */
export const CHECKPOINT_BLOCKS_MAX = 120;

/**
 * An account's public half: all that the daemon needs to derive and watch. `secp256k1` is a BIP-32 node (hex) at the
 * account level; `monero` is a private view key and the public spend key (hex).
 */
export type AccountKey =
  | { kind: 'secp256k1'; publicKey: string; chainCode: string }
  | { kind: 'monero'; privateViewKey: string; publicSpendKey: string };

/** Where money can arrive. `script` is what the chain is searched for: a scriptPubKey, or the address's bytes. */
export type DerivedAddress = { script: Uint8Array; address: string };

/** 0 for addresses given to payers, 1 for our own change (BIP-44). */
export type Branch = 0 | 1;

/** Money that arrived at a target. `id` is the outpoint, "txid:n", unique on its chain. */
export type Credit = {
  id: string;
  txid: string;
  targetId: number;
  amount: Amount;
  /** The block that holds it, null while it is unconfirmed. */
  block: BlockId | null;
  /** That block's time, milliseconds since 1970; only with a block. */
  blockTime?: number;
  /** The outpoints that its transaction spends, for recognising a replacement; at most INPUTS_KEPT_MAX. */
  inputs: string[];
  /**
   * Its transaction without witnesses, only with a block: kept for the day when the credit is spent, which a source may
   * not remember it for.
   */
  base?: Uint8Array;
  /** True unless the source proved that no unconfirmed ancestor, nor itself, signals or allows replacement. */
  replaceable?: boolean;
  /** Confirmations before it may be spent: 100 for a coinbase, 6 for a peg-out. */
  maturity?: number;
  /** True for an output with an unlock time, which never counts. */
  locked?: boolean;
};

export const INPUTS_KEPT_MAX = 100;

/**
 * Outputs of one unconfirmed transaction that are told and stored. It costs its sender nothing to make more of them; they
 * are seen with its block. Which they are does not change from one look to the next.
 */
export const OUTPUTS_PER_UNCONFIRMED_MAX = 50;

/** A coin of ours was spent by `txid`. */
export type SpendSeen = {
  outpoint: string;
  txid: string;
  block: BlockId | null;
  /** That block's time, milliseconds since 1970; only with a block. */
  blockTime?: number;
};

export type ChainUpdate = {
  /** The tip of the checkpoint that the adapter was given: the update holds only against that. */
  since: BlockId;
  checkpoint: Checkpoint;
  /** Blocks that left the chain: of the old checkpoint, above the fork. */
  orphaned: BlockId[];
  /** The target ids that this update speaks of: silence about others means nothing. */
  targets: 'all' | number[];
  /**
   * 'complete': every unconfirmed transaction that matters at the checkpoint's tip is among the credits and spends.
   * 'unknown': credits may be missing; nothing may be concluded from absence.
   */
  mempool: 'complete' | 'unknown';
  credits: Credit[];
  spends: SpendSeen[];
  /**
   * The median time of the checkpoint's tip (BIP-113), milliseconds since 1970: a clock that no machine of ours can put
   * wrong. Absent where blocks keep no time of their own, as on a chain of tests.
   */
  tipMedianTime?: number;
  /** Whether a sync right after this one has something to tell; absent: whenever this one moved the tip. */
  more?: boolean;
};

/** How far a block's time may be ahead of the network's (MAX_FUTURE_BLOCK_TIME of Bitcoin, Litecoin and Bitcoin Cash). */
export const BLOCK_TIME_AHEAD_MAX_MS = 2 * 3_600_000;

export type SourceHealth = {
  /** Where the facts come from, without credentials. */
  source: string;
  tip: BlockId | null;
  /** Milliseconds since the tip's block time; null while it is unknown. */
  tipAgeMs: number | null;
  /** True when the source says itself that it is behind (initial block download), or its tip is too old. */
  lagging: boolean;
  /** The last failure in an operator's words; null while the source answers. */
  error: string | null;
};

/** One of several servers of a source. */
export type SourceServer = {
  name: string;
  /** `dropped`: it was caught at something, and is left alone for a while. */
  state: 'idle' | 'connecting' | 'ready' | 'waiting' | 'dropped';
  /** Whether it is the one that is asked. */
  asked: boolean;
  /** What it calls itself, with the protocol; null while it is not connected. */
  software: string | null;
  tip: BlockId | null;
  /** Blocks behind the chain with the most work; null on another branch, or while not connected. */
  behind: number | null;
  /** Running mean; null before its first answer. */
  latencyMs: number | null;
  /** Addresses that it watches for us. */
  watched: number;
  failures: number;
  error: string | null;
};

/** A chain of a network, as one key. */
export type ChainKey = `${Network}:${ChainId}`;
/** The network of a chain's key. */
export const networkOf = (key: string): Network => key.slice(0, key.indexOf(':')) as Network;

export const chainKey = (network: Network, chain: ChainId): ChainKey => `${network}:${chain}`;
