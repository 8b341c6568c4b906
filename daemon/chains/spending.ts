/**
 * How one family of chains spends: coins (BTC, LTC, BCH), accounts (ETH, BSC), Monero. `app/withdrawals` calls nothing else
 * of a chain, and reads of a plan only what every plan has.
 *
 * Invariant: a conflict key is something that one transaction at most can use: an outpoint, the nonce of an address, a key
 * image. Every transaction that is planned for a payment shares a key with each earlier one.
 */
import type { AssetId } from '../domain/assets.ts';
import { Rejected } from '../domain/errors.ts';
import type { ChangeTarget, Coin, Decoded, DecodedOutput, SpendPlan, UnsignedSpend } from '../domain/spend.ts';
import type { SpendingSource } from './adapter.ts';

/** What may be spent, by the books. It is read on demand: a family reads only what its chains have. */
export interface Holdings {
  /** Coins of the account that are free, in tiers: each tier has all coins of the one before. */
  coins(): Coin[][];
  /** A coin of ours, spent or not. Throws `Rejected('spend.gone')` when it is not known. */
  coin(outpoint: string): Coin;
}

/** What a family is asked to plan. Fees are in its fee asset; rates are smallest units for 1,000 units of size. */
export type PaymentRequest = {
  /** The account level of the wallet. */
  accountNo: number;
  asset: AssetId;
  /** `units` null: everything less the fee; then it is the only payout. No payout: all of it comes back as change. */
  payouts: { address: string; units: bigint | null }[];
  /** Conflict keys that the plan has to use. */
  conflictKeys: string[];
  holdings: Holdings;
  change: ChangeTarget;
  feeRate: bigint;
  /** What the replaced transactions pay together; 0: it replaces nothing. */
  feeMin: bigint;
  /** Above this the plan is refused. */
  feeMax: bigint;
  tipHeight: number;
  /** Unconfirmed transactions that the fee has to be enough for, too. */
  parents?: { fee: bigint; vsize: number };
};

export type EstimateRequest = Pick<PaymentRequest, 'accountNo' | 'asset' | 'holdings' | 'feeRate' | 'tipHeight'> & {
  payout: PaymentRequest['payouts'][number];
};

/** `plan` null: there is not enough to plan with; `fee` is then that of a usual transaction. */
export type Estimate = { fee: bigint; plan: SpendPlan | null };

/** A plan for a person, read from its own bytes. */
export type Description = {
  /** The transaction without signatures, in hex; null: of a simulated chain that has no bytes of its own. */
  raw: string | null;
  conflictKeys: string[];
  /** `changeIndex`: the index of our change address; null: it is not our change. */
  outputs: (DecodedOutput & { changeIndex: number | null })[];
};

/** What is stored of the transactions that a plan's inputs come from. */
export interface KeptTransactions {
  /** The signed bytes of a transaction of ours; null: not known. */
  signed(txid: string): string | null;
  /** The bytes, without signatures where these are apart; null: not kept. */
  base(txid: string): Uint8Array | null;
  /** The hash of the block that holds a coin of ours; null: none does. */
  blockOf(outpoint: string): string | null;
  /** The time limit of one request to the source. */
  limit(): AbortSignal;
}

/** What our books know about a transaction that was made elsewhere with our keys. */
export type OwnParts = {
  accountNo: number;
  /** What it pays to the network; 0 while not all of its inputs are ours. */
  fee: bigint;
  coin(outpoint: string): Coin | null;
  /** The index of the change address that an output pays; null: it pays none of ours. */
  changeIndex(output: DecodedOutput): number | null;
};

export interface Spending extends SpendingSource {
  /** The asset that fees are paid in, whatever asset is paid. */
  readonly feeAsset: AssetId;
  /** How a transaction can take the place of another: with a higher fee, with the same nonce, or not at all. */
  readonly replacement: 'fee' | 'nonce' | 'none';
  /** Whether miners weigh a transaction together with the unconfirmed ones that it spends from (CPFP). */
  readonly childPays: boolean;
  /** Whether the bytes that `transaction` gives can be broadcast again: false where signatures are apart from them. */
  readonly isWhole: boolean;
  /** The fee rate while the source does not answer. */
  readonly fallbackRate: bigint;

  /** The rate that a highest fee is worked out with, from the rate of now. */
  highestRate(rate: bigint): bigint;
  /** The least rate with which a transaction may replace these. */
  replacementRate(replaced: readonly { fee: bigint; size: number }[]): bigint;

  /** Whether nodes do not relay so small a payment. The address was checked. */
  isDust(address: string, units: bigint): boolean;
  /** Whether an output pays an address. Throws `Rejected('withdrawal.address')` for a text that is no address. */
  pays(output: DecodedOutput, address: string): boolean;

  /** Synchronous, so that it can be asked inside the transaction that takes a request. Throws `Rejected`. */
  estimate(request: EstimateRequest): Estimate;
  /**
   * The transaction that does what the request asks for; the same request gives the same plan. Throws `Rejected`:
   * `spend.insufficient`, `.dust`, `.too_many_coins`, `.too_large`, `.fee_too_high`. `limit`: the time limit of one request
   * to the source or the signer.
   */
  plan(request: PaymentRequest, limit: () => AbortSignal): Promise<SpendPlan>;
  /** One at least. */
  conflictKeys(plan: SpendPlan): string[];
  /** The key that all versions should share: the one that a reorganisation reaches last. */
  preferredKey(plan: SpendPlan): string;
  /** How large the signed transaction is at the most, in the unit that fees are counted by. */
  sizeOf(plan: SpendPlan): number;
  describe(plan: SpendPlan): Description;
  /** A plan with what the signer checks it against. Throws `Unavailable`. */
  unsigned(plan: SpendPlan, kept: KeptTransactions): Promise<UnsignedSpend>;

  /** What the bytes of a transaction pay. Throws `Rejected('spend.malformed')`. */
  decode(raw: string): Decoded;
  /** The plan that a transaction would have had if it had been made here. */
  recover(raw: string, own: OwnParts): SpendPlan;
  /**
   * What `conflict` is asked when the transaction `base` vanished and took with it the coin that this plan uses as a key:
   * its inputs, and a height below every block that can hold another spender of them.
   */
  vanished(plan: SpendPlan, key: string, base: Uint8Array | null): { inputs: string[]; fromHeight: number };
}

/** What is asked of the source of the chain and of nothing else. */
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
  unconfirmed(txid: string, signal: AbortSignal) {
    return this.#source.unconfirmed(txid, signal);
  }
  broadcast(raw: string, signal: AbortSignal) {
    return this.#source.broadcast(raw, signal);
  }
  conflict(txid: string, inputs: readonly string[], fromHeight: number, signal: AbortSignal) {
    return this.#source.conflict(txid, inputs, fromHeight, signal);
  }
}

/** Plans with the coins of each tier in turn, until one has enough. `spent`: coins that the plan has to spend. */
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
