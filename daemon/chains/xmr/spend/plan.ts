/** Chooses the coins of a Monero payment, and its fee. Pure. */
import type { Network } from '../../../domain/assets.ts';
import { Rejected } from '../../../domain/errors.ts';
import { divideUp, maxOf } from '../../../domain/money.ts';
import {
  type ChangeAddress,
  type Coin,
  type MoneroPlan,
  oldestWithin,
  type PlannedOutput,
} from '../../../domain/spend.ts';

/** Consensus: 16 outputs, of which one is the change. */
const PAYOUTS_MAX = 15;
/** The signer's limit. A transaction with more is too large for nodes to relay. */
const INPUTS_MAX = 150;
const RING_MEMBERS = 16;
/** Fees are whole multiples of this, piconero, so that a fee does not identify the wallet program. */
const FEE_STEP = 10_000n;
/** Upper bounds of the parts in bytes; numbers take up to ten (`wallet2::estimate_rct_tx_size`). */
const FRAME_BYTES = 20;
const EXTRA_BYTES = 2 + 33 + 11;
const INPUT_BYTES = 7 + 3 * RING_MEMBERS + 32 + 32 * (RING_MEMBERS + 2) + 32;
const OUTPUT_BYTES = 6 + 32 + 1 + 8 + 32;
/** The additional key of an output, where several receivers have subaddresses. */
const OUTPUT_KEY_BYTES = 33;
const KEY_BYTES = 32;
const PROOF_KEYS = 6;
const RANGE_BITS_LOG = 6;

type MoneroRequest = {
  network: Network;
  accountNo: number;
  payouts: { address: string; script: Uint8Array; units: bigint | null }[];
  /** Coins that must be spent. */
  spent: Coin[];
  /** Further coins that may be spent. */
  coins: Coin[];
  change: ChangeAddress;
  /** Piconero per 1,000 of weight. */
  feeRate: bigint;
  feeMin: bigint;
  feeMax: bigint;
  inputsMax: bigint | null;
};

/**
 * The highest weight of a transaction: its bytes, and for more than two outputs a surcharge, because their common proof is short
 * but takes long to check (`get_transaction_weight_clawback`).
 */
export function weightOf(inputs: number, payouts: number): bigint {
  const outputs = payouts + 1;
  const log = Math.ceil(Math.log2(outputs));
  const proof = KEY_BYTES * (PROOF_KEYS + 2 * (RANGE_BITS_LOG + log));
  const base = (KEY_BYTES * (PROOF_KEYS + 2 * (RANGE_BITS_LOG + 1))) / 2;
  const surcharge = outputs > 2 ? Math.floor(((base * 2 ** log - proof) * 4) / 5) : 0;
  const keys = outputs > 2 ? outputs * OUTPUT_KEY_BYTES : 0;
  const bytes = FRAME_BYTES + EXTRA_BYTES + keys + inputs * INPUT_BYTES + outputs * OUTPUT_BYTES + proof + 3;
  return BigInt(bytes + surcharge);
}

/** The fee of a weight, rounded up to a whole step. */
export const feeOf = (weight: bigint, feeRate: bigint): bigint =>
  divideUp(divideUp(weight * feeRate, 1_000n), FEE_STEP) * FEE_STEP;

const total = (coins: readonly { units: bigint }[]): bigint => coins.reduce((sum, { units }) => sum + units, 0n);

/** The plan without decoys. Throws `Rejected` like `Spending.plan`. */
export function planMonero(request: MoneroRequest): MoneroPlan {
  const { payouts, feeRate, feeMin, feeMax } = request;
  if (payouts.length > PAYOUTS_MAX) {
    throw new Rejected('spend.too_large', `A transaction of Monero pays ${PAYOUTS_MAX} addresses at most`);
  }
  const feeWith = (coins: readonly Coin[]): bigint =>
    maxOf(feeOf(weightOf(coins.length, payouts.length), feeRate), feeMin);
  const takesAll = payouts.length === 0 || payouts.some(({ units }) => units === null);
  const coins = takesAll ? everything(request) : enough(request, feeWith);
  if (coins.length === 0) throw insufficient();
  if (coins.length > INPUTS_MAX) {
    throw new Rejected('spend.too_many_coins', `It takes more than ${INPUTS_MAX} coins: pay less at a time`);
  }
  const fee = feeWith(coins);
  if (fee > feeMax) throw new Rejected('spend.fee_too_high', `Its fee of ${fee} would be above the limit of ${feeMax}`);
  const outputs = outputsOf(request, total(coins) - fee);
  const { network, accountNo } = request;
  return {
    ...{ kind: 'monero', network, chain: 'XMR', accountNo },
    inputs: coins.map((coin) => ({ ...coin, decoys: [] })),
    // the remainder, which is less than a step, is fee
    ...{ outputs, fee: total(coins) - total(outputs), weight: Number(weightOf(coins.length, payouts.length)) },
  };
}

const insufficient = (): Rejected => new Rejected('spend.insufficient', 'Insufficient balance');

/** The coins that are worth more than the fee for spending them, up to the approved sum. */
function everything({ spent, coins, payouts, feeRate, inputsMax }: MoneroRequest): Coin[] {
  if (payouts.length === 0) return spent;
  const cost = feeOf(weightOf(1, 1) - weightOf(0, 1), feeRate);
  const known = new Set(spent.map(({ outpoint }) => outpoint));
  const worth = coins.filter(({ outpoint, units }) => units > cost && !known.has(outpoint));
  const most = worth.toSorted((a, b) => (a.units > b.units ? -1 : 1)).slice(0, INPUTS_MAX - spent.length);
  return [...spent, ...oldestWithin(most, inputsMax)];
}

/**
 * The fewest coins that suffice, the largest first, because the inputs of a transaction reveal that they have one
 * owner.
 */
function enough({ spent, coins, payouts }: MoneroRequest, feeWith: (coins: readonly Coin[]) => bigint): Coin[] {
  const paid = payouts.reduce((sum, { units }) => sum + (units ?? 0n), 0n);
  const known = new Set(spent.map(({ outpoint }) => outpoint));
  const left = coins
    .filter(({ outpoint }) => !known.has(outpoint))
    .toSorted((a, b) => (a.units === b.units ? (a.outpoint < b.outpoint ? -1 : 1) : a.units > b.units ? -1 : 1));
  const taken = [...spent];
  const suffices = (): boolean => taken.length > 0 && total(taken) >= paid + feeWith(taken);
  while (!suffices()) {
    const next = left.shift();
    if (!next) throw insufficient();
    taken.push(next);
  }
  // replaces the last one by the smallest coin that still suffices, which keeps large coins
  const last = taken.at(-1);
  if (taken.length > spent.length && last) {
    const others = taken.slice(0, -1);
    const small = left.findLast(({ units }) => total(others) + units >= paid + feeWith(taken));
    if (small) return [...others, small];
  }
  return taken;
}

/** The payments, and the change if there is any. */
function outputsOf({ payouts, change }: MoneroRequest, rest: bigint): PlannedOutput[] {
  const paid = payouts.map(({ units, ...to }): PlannedOutput => ({ kind: 'payout', ...to, units: units ?? rest }));
  const left = rest - total(paid);
  if (left < 0n || paid.some(({ units }) => units <= 0n)) throw insufficient();
  return left > 0n ? [...paid, { kind: 'change', ...change, units: left }] : paid;
}
