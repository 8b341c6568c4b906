/**
 * The interface of a chain family for spending: coins (BTC, LTC, BCH), accounts (ETH, BSC), Monero. `app/spends`
 * uses nothing else of a chain, and reads only the common fields of a plan.
 *
 * Invariant: at most one transaction can use a conflict key: an outpoint, the nonce of an address, a key image. Every
 * transaction planned for a payment shares a key with each earlier one.
 */
import type { AssetId } from '../domain/assets.ts';
import type { AccountKey, BlockId, Branch, DerivedAddress } from '../domain/chain.ts';
import { Rejected } from '../domain/errors.ts';
import type {
  ChangeAddress,
  Coin,
  Decoded,
  DecodedOutput,
  PlannedOutput,
  SignedSpend,
  SpendPlan,
  UnsignedSpend,
} from '../domain/spend.ts';
import type { SpendingSource } from './adapter.ts';

/** An address of ours on an account chain, and what is free there by the books. */
export type AddressFunds = {
  /** The text that its nonce keys contain. */
  address: string;
  script: Uint8Array;
  branch: Branch;
  index: number;
  /** Smallest units of the paid asset and of the fee's asset, less what other open payments take from them. */
  units: { readonly [asset in AssetId]?: bigint };
  /** The units that are there, too, and may be paid once they have their confirmations. Absent: none. */
  unconfirmed?: { readonly [asset in AssetId]?: bigint };
  /** The units that open payments take from it, of the same assets. */
  taken?: { readonly [asset in AssetId]?: bigint };
};

/** An address of ours, by its script. */
export type OwnAddress = Pick<DerivedAddress, 'script'>;

/** The spendable funds by the books. Read on demand, because each family reads only what its chains have. */
export interface Holdings {
  /** Free coins of the account in tiers: each tier contains the one before. */
  coins(): Coin[][];
  /** A coin of ours, spent or not. Throws `Rejected('spend.gone')` if it is unknown. */
  coin(outpoint: string): Coin;
  /** Account chains: the addresses of the account that hold the paid asset, the largest holding first. */
  balances(): AddressFunds[];
  /** Account chains: an address of the account, whatever it holds. Throws `Rejected('spend.gone')` if it is not ours. */
  balance(own: OwnAddress): AddressFunds;
  /**
   * Account chains: the lowest nonce of an address that is free: not below `used`, used by no known transaction, and
   * reserved by no open payment. So nonces have no gaps. `used`: how many transactions of the address blocks contain.
   */
  nextNonce(address: string, used: bigint): bigint;
  /** Account chains: whether blocks, which contain `used` transactions of an address of ours, have one that the books lack. Absent: never. */
  lacksSent?(own: OwnAddress & { address: string }, used: bigint): boolean;
}

/** The total fee and size of an unconfirmed transaction and its unconfirmed ancestors, in the unit of fees. */
export type Ancestors = { fee: bigint; size: number };

/** A payment to plan. Fees are in the family's fee asset; rates are smallest units per 1,000 units of size. */
export type PaymentRequest = {
  /** The wallet's account number. */
  accountNo: number;
  asset: AssetId;
  /**
   * `units` null: everything less the fee; then it is the only payout. On an account chain everything of one address. No
   * payout: everything becomes change; on an account chain, with a conflict key, nothing is moved (a cancel).
   * `own`: the position of an address of the same account.
   */
  payouts: { address: string; units: bigint | null; own?: { branch: Branch; index: number } }[];
  /** Account chains: the only address that may pay. */
  from?: OwnAddress;
  /** Conflict keys that the plan must use. */
  conflictKeys: string[];
  /** The plans of the transactions that it replaces; absent: it replaces none. */
  replaced?: readonly SpendPlan[];
  holdings: Holdings;
  change: ChangeAddress;
  feeRate: bigint;
  /** The fees of the replaced transactions together; 0: it replaces nothing. */
  feeMin: bigint;
  /** A plan with a higher fee is refused. */
  feeMax: bigint;
  tipHeight: number;
  /** Unconfirmed transactions whose fee this one must complete (CPFP). */
  parents?: Ancestors;
  /** Of a sweep: the most that it may take, fee included; null: no end to it. */
  inputsMax?: bigint | null;
};

export type EstimateRequest = Pick<PaymentRequest, 'accountNo' | 'asset' | 'holdings' | 'feeRate' | 'tipHeight'> & {
  payout: PaymentRequest['payouts'][number];
};

/** `plan` null: the funds do not suffice; `fee` is then that of a usual transaction. */
export type Estimate = { fee: bigint; plan: SpendPlan | null };

/** A plan for display, decoded from its own bytes. */
export type Description = {
  /** The unsigned transaction in hex; null for a simulated chain without bytes. */
  raw: string | null;
  conflictKeys: string[];
  /** `changeIndex`: the index of our change address; null: it is not our change. */
  outputs: (DecodedOutput & { changeIndex: number | null })[];
};

/** A payment that is not planned yet, for display: it is shown by its address alone. `units`: smallest ones. */
export const payoutTo = (address: string, asset: AssetId, units: bigint): Description['outputs'][number] => ({
  address,
  script: new Uint8Array(),
  asset,
  units,
  changeIndex: null,
});

/** Stored data of the transactions that a plan's inputs come from. */
export interface KeptTransactions {
  /** The signed bytes of a transaction of ours; null if unknown. */
  signed(txid: string): string | null;
  /** The bytes, without signatures where these are separate; null if not stored. */
  base(txid: string): Uint8Array | null;
  /** The hash of the block that contains a coin of ours; null if none does. */
  blockOf(outpoint: string): string | null;
  /** The time limit of one request to the source. */
  limit(): AbortSignal;
}

/** Data about a transaction that was made elsewhere with our keys. */
export type OwnParts = {
  accountNo: number;
  /** Its network fee; 0 if not all of its inputs are ours. */
  fee: bigint;
  coin(outpoint: string): Coin | null;
  /** The position of an address of ours; null if it is none. */
  positionOf(own: OwnAddress): { branch: Branch; index: number } | null;
  /** The index of the change address that an output pays; null if it pays none of ours. */
  changeIndex(output: DecodedOutput): number | null;
};

/** Signing in the wallet that has the keys of a watch-only account. */
export interface OutsideSigning {
  /**
   * The file for that wallet, and the id that its transaction will have. Where signatures are a part of the id it is
   * only a name for it.
   */
  handOut(unsigned: UnsignedSpend, account: AccountKey): { file: Uint8Array; txid: string };
  /** The signed transaction from what that wallet gave back. Throws `Rejected` (`psbt.…`) for anything but what was planned. */
  takeBack(plan: SpendPlan, given: Uint8Array): SignedSpend;
  /** Whether a transaction makes the payments of a plan with its coins, whoever signed it. `raw`: with or without witnesses. */
  isOf(plan: SpendPlan, raw: string): boolean;
}

export interface Spending extends SpendingSource {
  /** Absent: no other wallet of this chain signs what is planned here. */
  readonly outside?: OutsideSigning;
  /** The asset of fees, whatever asset is paid. */
  readonly feeAsset: AssetId;
  /** How a transaction can replace another: with a higher fee, with the same nonce, or not at all. */
  readonly replacement: 'fee' | 'nonce' | 'none';
  /**
   * Whether nodes may take a payment signed anew, with the same keys, whose first transaction they refuse: what surrounds its coins is
   * chosen anew. Absent: they would refuse it again.
   */
  readonly signsAnew?: boolean;
  /** Our address for change: a new one of branch 1, or always the one at index 0 (a tank, Monero's primary address). */
  readonly changeAddress: 'new' | 'fixed';
  /** Whether the result of `transaction` can be broadcast again; false if signatures are separate. */
  readonly isWhole: boolean;
  /** The fee rate if the source does not answer. */
  readonly fallbackRate: bigint;

  /** The rate for a highest fee, from the current rate. */
  highestRate(rate: bigint): bigint;
  /** Whether those who make blocks get so small a part of a plan's fee that they may leave it out. Absent: they get all of it. */
  hasLowTip?(plan: SpendPlan): boolean;
  /** The lowest rate at which a transaction may replace these. */
  replacementRate(replaced: readonly { fee: bigint; size: number }[]): bigint;

  /** So many units, or the least that nodes relay to an address, if that is more. The address was checked. */
  sendable(address: string, units: bigint): bigint;
  /** Whether an output pays an address. Throws `Rejected('withdrawal.address')` if the text is no address. */
  pays(output: DecodedOutput, address: string): boolean;

  /**
   * Account chains: the highest fee of a usual transfer of an asset, in units of the fee's asset. `rate`: as of
   * `feeRate`.
   */
  usualFee?(asset: AssetId, rate: bigint): bigint;
  /** The same of coin that goes to an address which may have had none before; default: `usualFee` of the coin. */
  fundingFee?(rate: bigint): bigint;
  /** Synchronous, because it is called inside the transaction of a request. Throws `Rejected`. */
  estimate(request: EstimateRequest): Estimate;
  /**
   * The plan for a request; deterministic. Throws `Rejected`: `spend.insufficient`, `.gas` (the fee's own asset does not
   * suffice), `.scattered` (no single address has enough), `.dust`, `.too_many_coins`, `.too_large`, `.fee_too_high`.
   * `limit`: the time limit of one request to the source or the signer.
   */
  plan(request: PaymentRequest, limit: () => AbortSignal): Promise<SpendPlan>;
  /** At least one. */
  conflictKeys(plan: SpendPlan): string[];
  /**
   * Keys that other transactions must use before this one can confirm: lower nonces of its sender that were free or
   * reserved when it was planned. Absent: keys have no order.
   */
  keysBefore?(plan: SpendPlan): string[];
  /** The key that all versions should share: the last one that a reorganisation would reach. */
  preferredKey(plan: SpendPlan): string;
  /** The maximum size of the signed transaction, in the unit of fees. */
  sizeOf(plan: SpendPlan): number;
  describe(plan: SpendPlan): Description;
  /** A plan with the data that the signer checks. Throws `Unavailable`. */
  unsigned(plan: SpendPlan, kept: KeptTransactions): Promise<UnsignedSpend>;

  /** The payments of a transaction. Throws `Rejected('spend.malformed')`. */
  decode(raw: string): Decoded;
  /** The plan with which this program would have made a transaction. */
  recover(raw: string, own: OwnParts): SpendPlan;

  /**
   * Why the chain would refuse whatever transfer of an asset from an address of ours to a recipient (null: to itself), in words; null: it
   * would not. Throws `Unavailable`. Absent: no chain of the family refuses any.
   */
  whyRefused?(asset: AssetId, from: OwnAddress, to: string | null, signal: AbortSignal): Promise<string | null>;

  /**
   * Why an output of a transaction that is reported as locked cannot be spent, as a sentence. `base`: the stored bytes; null: none.
   * Absent: no output is reported so.
   */
  whyLocked?(base: Uint8Array | null): string;

  /**
   * The total of a transaction and its unconfirmed ancestors, for a child that pays for them (CPFP); null: it is not in
   * the mempool. Throws `Unavailable`. Absent: the fee of a child does not count for its parents.
   */
  ancestorsOf?(txid: string, signal: AbortSignal): Promise<Ancestors | null>;
  /**
   * Why the transaction that made a conflict key of a plan cannot return after it vanished: another transaction in a block
   * that excludes it; null: none was found. Throws `Unavailable`. Absent: keys do not vanish, or nobody can tell.
   */
  excludedBy?(vanished: VanishedKey, signal: AbortSignal): Promise<{ txid: string; block: BlockId } | null>;
  /**
   * A block, if the chain up to it makes a signed transaction of ours impossible although nothing spent its coin: the
   * transaction names the place of the coin on the chain, and another output is there now. Null: it can confirm once the coin is back,
   * or nobody can tell. Throws `Unavailable`. Absent: a signed transaction names its coins by nothing that may change.
   */
  displacedAt?(signed: DisplacedCoin, limit: () => AbortSignal): Promise<BlockId | null>;
}

/** A conflict key whose transaction `txid` left the chain. `base`: its stored bytes without signatures; null: none. */
export type VanishedKey = { plan: SpendPlan; key: string; txid: string; base: Uint8Array | null };

/** The bytes of a signed transaction (hex), and one of its conflict keys, with the rest as of `VanishedKey`. */
export type DisplacedCoin = { raw: string } & Pick<VanishedKey, 'key' | 'base'>;

/** A highest fee is that of a rate this many times the current one, because rates may rise. */
const HIGHEST_RATE_FACTOR = 2n;
const FEE_UNLIMITED = 1n << 256n;

/** The methods that only ask the chain's source, or are alike in most families. */
export abstract class OfSource implements SpendingSource {
  readonly #source: SpendingSource;

  constructor(source: SpendingSource) {
    this.#source = source;
  }

  feeRate(targetBlocks: number, signal: AbortSignal) {
    return this.#source.feeRate(targetBlocks, signal);
  }
  transaction(txid: string, blockHash: string | null, signal: AbortSignal) {
    return this.#source.transaction(txid, blockHash, signal);
  }
  broadcast(raw: string, signal: AbortSignal) {
    return this.#source.broadcast(raw, signal);
  }
  highestRate(rate: bigint): bigint {
    return rate * HIGHEST_RATE_FACTOR;
  }
}

/** The estimate of a family whose plans need nothing but the holdings. `usual`: the fee while these do not suffice. */
export function estimateByPlan<P extends SpendPlan>(
  { payout, ...request }: EstimateRequest,
  { script, usual }: { script: Uint8Array; usual: bigint },
  plan: (request: PaymentRequest) => P,
): Estimate {
  // our change address is as long as any other
  const change = { address: payout.address, script, index: 0 };
  try {
    const made = plan({ ...request, payouts: [payout], change, conflictKeys: [], feeMin: 0n, feeMax: FEE_UNLIMITED });
    return { fee: made.fee, plan: made };
  } catch (error) {
    const isShort =
      error instanceof Rejected && (error.code === 'spend.insufficient' || error.code === 'spend.too_many_coins');
    if (!isShort) throw error;
    return { fee: usual, plan: null };
  }
}

/** An output of a transaction that was decoded again, as the plan had it. */
export function plannedOutput(output: DecodedOutput, own: OwnParts): PlannedOutput {
  const to = { address: output.address ?? '', script: output.script, units: output.units };
  const index = own.changeIndex(output);
  return index === null ? { kind: 'payout', ...to } : { kind: 'change', ...to, index };
}

/** Plans with the coins of each tier in turn until one suffices. `spent`: coins that the plan must spend. */
export function planByTiers<P>({ holdings }: Pick<PaymentRequest, 'holdings'>, spent: Coin[], plan: (c: Coin[]) => P) {
  const tiers = holdings.coins();
  for (const [at, coins] of tiers.entries()) {
    try {
      return plan([...spent, ...coins]);
    } catch (error) {
      const isShort = error instanceof Rejected && error.code === 'spend.insufficient';
      if (!isShort || at === tiers.length - 1) throw error;
    }
  }
  throw new Error('assertion failed: holdings have a tier');
}
