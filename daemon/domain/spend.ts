/**
 * What leaves the wallet: the coins that are spent, what is built from them, and what comes back signed. Facts and
 * plans only; `domain/withdrawal.ts` judges them.
 *
 * Invariant: a plan names every satoshi: the inputs are worth the outputs plus the fee.
 */
import type { AssetId, ChainId, Network } from './assets.ts';
import type { Branch } from './chain.ts';

/** A coin of ours on a UTXO chain. */
export type Coin = {
  /** "txid:n". */
  outpoint: string;
  units: bigint;
  /** Its scriptPubKey. */
  script: Uint8Array;
  /** Where its key is below the account (BIP-44). */
  branch: Branch;
  index: number;
  /** Confirmations when it was read; 0 only for our own change. */
  confirmations: number;
};

/**
 * The conflict key of a transaction on a chain of accounts: the nonce of the address that sends it. It is there whatever
 * happens to any coin.
 */
export const nonceKey = (address: string, nonce: bigint | number): string => `nonce:${address}:${nonce}`;
export const isNonceKey = (key: string): boolean => key.startsWith('nonce:');

export type Payout = { address: string; script: Uint8Array; units: bigint };

/** An address of ours for change, taken from branch 1. */
export type ChangeTarget = { address: string; script: Uint8Array; index: number };

export type PlannedOutput =
  | { kind: 'payout'; address: string; script: Uint8Array; units: bigint }
  | { kind: 'change'; address: string; script: Uint8Array; units: bigint; index: number };

/** An unsigned transaction of a UTXO chain, whole: what is signed is built from this and from nothing else. */
export type UtxoPlan = {
  kind: 'utxo';
  network: Network;
  chain: ChainId;
  /** The account level of the wallet whose keys sign. */
  accountNo: number;
  version: number;
  lockTime: number;
  /** `sequence` signals replacement (BIP-125) where the chain knows it. */
  inputs: (Coin & { sequence: number })[];
  outputs: PlannedOutput[];
  fee: bigint;
  /** Virtual size when signed, at the most. */
  vsize: number;
};

/** A transaction of the sandbox's simulated account chains and Monero: openly not a real one. */
export type SandboxPlan = {
  kind: 'sandbox';
  network: 'sandbox';
  chain: ChainId;
  accountNo: number;
  asset: AssetId;
  /** What is spent: outpoints of the simulated chain, one of them the anchor. */
  inputs: Coin[];
  outputs: PlannedOutput[];
  fee: bigint;
};

export type SpendPlan = UtxoPlan | SandboxPlan;

/** A plan of BTC, LTC or BCH. `previous`: every transaction that an input spends from, whole, in hex, by its id. */
export type UtxoUnsigned = { plan: UtxoPlan; previous: { [txid: string]: string } };
export type SandboxUnsigned = { plan: SandboxPlan };
/** What is to be signed: a plan, with what the signer checks it against. */
export type UnsignedSpend = UtxoUnsigned | SandboxUnsigned;

/** Signed bytes: stored before they are sent, and the only thing that is ever sent. `size`: what the fee is counted by. */
export type SignedSpend = { txid: string; raw: string; fee: bigint; size: number };

/** `address` null: a script that no address stands for. */
export type DecodedOutput = { address: string | null; script: Uint8Array; asset: AssetId; units: bigint };

/** What the bytes of a transaction pay, signed or not. */
export type Decoded = {
  txid: string;
  /** What one transaction at most can use: outpoints, the nonce of an address, key images. */
  conflictKeys: string[];
  outputs: DecodedOutput[];
};

/** What the bytes of a transaction of coins say. */
export type DecodedSpend = Omit<Decoded, 'conflictKeys'> & {
  inputs: { outpoint: string; sequence: number }[];
  lockTime: number;
  /** As the bytes are: an unsigned one is smaller. */
  vsize: number;
};

/** What a wallet is asked to pay, for one or several withdrawals of one account. */
export type SpendRequest = {
  network: Network;
  chain: ChainId;
  accountNo: number;
  asset: AssetId;
  /**
   * In the order of the withdrawals. `units` null: everything less the fee, and then it is the only one. None at all:
   * what the anchors are worth comes back to us as change (a cancel, or a child that pays for its parent).
   */
  payouts: { address: string; script: Uint8Array; units: bigint | null }[];
  /** Outpoints that must be among the inputs: the anchors of what was signed before. */
  anchors: string[];
  /** Coins that may be spent, the anchors' among them. */
  coins: Coin[];
  change: ChangeTarget;
  /** Smallest units per 1,000 virtual bytes. */
  feeRate: bigint;
  /**
   * What the transactions that this one replaces pay together, 0 without any. The plan pays at least that and the
   * relay fee of its own size (BIP-125 rules 3 and 4), and adds only confirmed coins (rule 2).
   */
  feeMin: bigint;
  /** Above this the plan is refused. */
  feeMax: bigint;
  /** The height of the tip, for the lock time. */
  tipHeight: number;
  /** Unconfirmed transactions that the anchors come from, when the fee is to be enough for them too (CPFP). */
  parents?: { fee: bigint; vsize: number };
};
