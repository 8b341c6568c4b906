/**
 * Types of spending: the coins, the plan made of them, and the signed result.
 *
 * Invariant: a plan accounts for every unit: the inputs are worth the outputs plus the fee.
 */
import type { AssetId, ChainId, Network } from './assets.ts';
import type { Branch } from './chain.ts';
import type { EvmChain } from './evm.ts';

/** A coin of ours on a UTXO chain. */
export type Coin = {
  /** "txid:n". */
  outpoint: string;
  units: bigint;
  /** Its scriptPubKey. */
  script: Uint8Array;
  /** The position of its key below the account (BIP-44). */
  branch: Branch;
  index: number;
  /** Confirmations when it was read; 0 only for our own change. */
  confirmations: number;
};

/** The conflict key of a transaction on an account chain: the nonce of its sender. It exists independently of coins. */
export const nonceKey = (address: string, nonce: bigint | number): string => `nonce:${address}:${nonce}`;
export const isNonceKey = (key: string): boolean => key.startsWith('nonce:');

/** The address and nonce of a key; null if it is no nonce. */
export function nonceOf(key: string): { address: string; nonce: bigint } | null {
  const [, address, nonce] = /^nonce:([^:]+):(\d+)$/.exec(key) ?? [];
  return address === undefined || nonce === undefined ? null : { address, nonce: BigInt(nonce) };
}

/** An address of ours for change, from branch 1. */
export type ChangeAddress = { address: string; script: Uint8Array; index: number };

export type PlannedOutput =
  | { kind: 'payout'; address: string; script: Uint8Array; units: bigint }
  /** An address of ours. `branch`: left out for 1. `asset`: left out where it is the asset that is paid. */
  | {
      kind: 'change';
      address: string;
      script: Uint8Array;
      units: bigint;
      branch?: Branch;
      index: number;
      asset?: AssetId;
    };

/** A complete unsigned transaction of a UTXO chain. The signed one is built from this alone. */
export type UtxoPlan = {
  kind: 'utxo';
  network: Network;
  chain: ChainId;
  /** The number of the account whose keys sign. */
  accountNo: number;
  version: number;
  lockTime: number;
  /** `sequence` signals replacement (BIP-125) where the chain supports it. */
  inputs: (Coin & { sequence: number })[];
  outputs: PlannedOutput[];
  fee: bigint;
  /** The maximum virtual size when signed. */
  vsize: number;
};

/** A transaction of the sandbox's simulated Monero. */
export type SandboxPlan = {
  kind: 'sandbox';
  network: 'sandbox';
  chain: ChainId;
  accountNo: number;
  asset: AssetId;
  /** Outpoints of the simulated chain. */
  inputs: Coin[];
  outputs: PlannedOutput[];
  fee: bigint;
};

/** A transaction of Ethereum or BNB Smart Chain (EIP-1559): from one address of ours to one recipient. */
export type EvmPlan = {
  kind: 'evm';
  network: Network;
  chain: EvmChain;
  accountNo: number;
  /** The asset of the payment; of a cancellation the one that was to be paid. */
  asset: AssetId;
  /** The contract of a token, lower-case hex with 0x; null: the native coin is sent. */
  contract: string | null;
  /** `address`: with its checksum (EIP-55), as its nonce keys contain it. */
  sender: { branch: Branch; index: number; address: string };
  nonce: bigint;
  /** The first nonce of the sender that no block used when this was planned. */
  lowestNonce: bigint;
  gasLimit: bigint;
  /** Wei per gas. */
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
  /** Exactly one. A cancellation sends 0 to ourselves. */
  outputs: PlannedOutput[];
  /** The highest fee: what is not needed is not charged. */
  fee: bigint;
};

/** A transaction of the sandbox's simulated account chains: from one address, to one recipient at the most. */
export type SandboxAccountPlan = {
  kind: 'sandbox-account';
  network: 'sandbox';
  chain: ChainId;
  accountNo: number;
  asset: AssetId;
  /** The address that pays, as its nonce keys contain it. */
  sender: string;
  nonce: bigint;
  /** The first nonce of the sender that no block used when this was planned. */
  lowestNonce: bigint;
  /** One; none of a cancellation. */
  outputs: PlannedOutput[];
  fee: bigint;
};

/**
 * A Monero transaction before it is signed. The change is the rest: where it is 0, the signer pays 0 to ourselves,
 * because every transaction has two outputs.
 */
export type MoneroPlan = {
  kind: 'monero';
  network: Network;
  chain: 'XMR';
  accountNo: number;
  /**
   * `decoys`: the numbers of other outputs on the chain, in the order of preference, among which the signature hides this
   * one. They are chosen once, because a second choice would show which member of both is ours.
   */
  inputs: (Coin & { decoys: number[] })[];
  outputs: PlannedOutput[];
  fee: bigint;
  /** Its weight when signed. The rings are chosen so. */
  weight: number;
};

export type SpendPlan = UtxoPlan | SandboxPlan | SandboxAccountPlan | EvmPlan | MoneroPlan;

/** `previous`: every transaction that an input spends, complete, in hex, by its id. */
export type UtxoUnsigned = { plan: UtxoPlan; previous: { [txid: string]: string } };
export type SandboxUnsigned = { plan: SandboxPlan | SandboxAccountPlan };
export type EvmUnsigned = { plan: EvmPlan };
/** A member of a ring: an output of the chain by its number, with its public key and the commitment to its amount (hex). */
export type RingMember = { index: number; key: string; commitment: string };
/** `previous`: the transactions of the inputs as `KeptTransaction` writes them, in hex. `rings`: of each input, ascending. */
export type MoneroUnsigned = { plan: MoneroPlan; previous: { [txid: string]: string }; rings: RingMember[][] };
/** A plan with the data that the signer checks. */
export type UnsignedSpend = UtxoUnsigned | SandboxUnsigned | EvmUnsigned | MoneroUnsigned;

/** Signed bytes: stored before they are sent. `size`: in the unit of fees. */
export type SignedSpend = {
  txid: string;
  raw: string;
  fee: bigint;
  size: number;
  /** The transaction's private keys in hex (Monero's `tx key`): proves to whom it paid, and spends nothing. */
  proof?: string;
  /** The key images of the inputs, by outpoint. */
  keyImages?: { [outpoint: string]: string };
};

/** `address` null: a script without an address. */
export type DecodedOutput = { address: string | null; script: Uint8Array; asset: AssetId; units: bigint };

/** The payments of a transaction, signed or not. */
export type Decoded = {
  txid: string;
  /** Keys that at most one transaction can use: outpoints, the nonce of an address, key images. */
  conflictKeys: string[];
  outputs: DecodedOutput[];
  /** Monero: how many outputs to others the last one stands for, which show neither address nor amount. */
  hidden?: number;
};

/** The content of a transaction of coins. */
export type DecodedSpend = Omit<Decoded, 'conflictKeys'> & {
  inputs: { outpoint: string; sequence: number }[];
  lockTime: number;
  /** Of these bytes: an unsigned transaction is smaller. */
  vsize: number;
};

/** A payment request for one or several withdrawals of one account. */
export type SpendRequest = {
  network: Network;
  chain: ChainId;
  accountNo: number;
  asset: AssetId;
  /**
   * In the order of the withdrawals. `units` null: everything less the fee; then it is the only payout. No payout: the
   * required inputs' value becomes change (a cancel, or a child that pays for its parent).
   */
  payouts: { address: string; script: Uint8Array; units: bigint | null }[];
  /** Outpoints that must be among the inputs: those of earlier signed versions, so that at most one version confirms. */
  requiredInputs: string[];
  /** Coins that may be spent, including the required inputs. */
  coins: Coin[];
  /** The maximum sum of the optional coins, see `oldestWithin`. */
  inputsMax?: bigint | null;
  change: ChangeAddress;
  /** Smallest units per 1,000 virtual bytes. */
  feeRate: bigint;
  /**
   * The fees of the replaced transactions together; 0 without any. The plan pays at least that plus the relay fee of
   * its own size (BIP-125 rules 3 and 4), and adds only confirmed coins (rule 2).
   */
  feeMin: bigint;
  /** A plan with a higher fee is refused. */
  feeMax: bigint;
  /** The height of the tip, for the lock time. */
  tipHeight: number;
  /** Unconfirmed ancestors whose fee this transaction must complete (CPFP). */
  parents?: { fee: bigint; vsize: number };
};

/**
 * The coins of an approved sweep: together no more than `most`, smallest units; null: all.
 *
 * `most` is the sum of the coins that were approved: all that were there, except those worth less than their fee. Since
 * then younger coins may have come, and a lower fee rate may have made smaller coins worth their fee. So
 * the youngest and the smallest are left out, as many of each as leave the highest sum.
 */
export function oldestWithin(coins: Coin[], most: bigint | null): Coin[] {
  if (most === null) return coins;
  const byAge = coins.filter(({ units }) => units <= most).toSorted((a, b) => b.confirmations - a.confirmations);
  const bySize = byAge.toSorted((a, b) => (a.units < b.units ? -1 : a.units > b.units ? 1 : 0));
  const rankOf = new Map(bySize.map((coin, rank) => [coin, rank]));
  const taken = new Set<Coin>();
  let sum = 0n;
  let least = 0;
  let best = { sum, age: 0, least };
  for (const [age, coin] of byAge.entries()) {
    if ((rankOf.get(coin) as number) < least) continue;
    taken.add(coin);
    sum += coin.units;
    for (; sum > most; least++) {
      const smallest = bySize[least] as Coin;
      if (taken.has(smallest)) sum -= smallest.units;
    }
    // of equal sums the later one, because it has the larger coins: fewer inputs
    if (sum >= best.sum) best = { sum, age, least };
  }
  return byAge.filter((coin, age) => age <= best.age && (rankOf.get(coin) as number) >= best.least);
}
