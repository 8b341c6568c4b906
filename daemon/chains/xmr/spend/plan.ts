/** Chooses the coins of a Monero payment, and its fee. Pure. */
import { assetOf, type Network } from '../../../domain/assets.ts';
import { Rejected } from '../../../domain/errors.ts';
import { formatUnits, maxOf, minOf } from '../../../domain/money.ts';
import {
  type ChangeAddress,
  type Coin,
  type MoneroPlan,
  oldestWithin,
  type PlannedOutput,
} from '../../../domain/spend.ts';
import { ADDRESS_BYTES, feeFor, highestFee, lowestFee } from './weight.ts';

/** Consensus: 16 outputs, of which one is the change. */
const PAYOUTS_MAX = 15;
/** The signer's limit. A transaction with more is too large for nodes to relay. */
const INPUTS_MAX = 150;
/** By so many bytes two rings of one output seldom differ. */
const BYTES_SAVED_MAX = 8;
export type MoneroRequest = {
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

const total = (coins: readonly { units: bigint }[]): bigint => coins.reduce((sum, { units }) => sum + units, 0n);

/** The plan without decoys, with the highest fee that its rings may need. Throws `Rejected` like `Spending.plan`. */
export function planMonero(request: MoneroRequest): MoneroPlan {
  const { payouts, feeRate, feeMin, feeMax } = request;
  if (payouts.length > PAYOUTS_MAX) {
    throw new Rejected('spend.too_large', `A transaction of Monero pays ${PAYOUTS_MAX} addresses at most`);
  }
  const scripts = payouts.map(({ script }) => script);
  const integrated = payouts.find(({ script }) => script.length > ADDRESS_BYTES);
  if (integrated && payouts.length > 1) {
    throw new Rejected('spend.one_payment', `${integrated.address} has a payment id, so it is paid alone`);
  }
  // what was approved may be the fee of exactly such a transaction
  const feeWith = (coins: readonly Coin[]): bigint =>
    maxOf(minOf(highestFee(coins.length, scripts, feeRate), feeMax), feeMin);
  const takesAll = payouts.length === 0 || payouts.some(({ units }) => units === null);
  const coins = takesAll ? everything(request) : enough(request, feeWith);
  if (coins.length === 0) throw insufficient();
  if (coins.length > INPUTS_MAX) throw tooMany(coins, feeWith);
  const fee = feeWith(coins);
  const least = maxOf(lowestFee(coins.length, scripts, feeRate), feeMin);
  if (least > feeMax) throw tooDear(least, feeMax);
  const outputs = outputsOf(request, total(coins) - fee);
  const { network, accountNo } = request;
  return {
    kind: 'monero',
    network,
    chain: 'XMR',
    accountNo,
    inputs: coins.map((coin) => ({ ...coin, decoys: [] })),
    outputs,
    fee,
    weight: 0,
  };
}

/**
 * The plan with the fee that its rings need, which is not higher. The difference goes where the rest goes. `bytes`: of all rings
 * together. They are chosen a few bytes smaller where the approved fee is that of such ones.
 */
export function weighed(plan: MoneroPlan, request: Omit<MoneroRequest, 'coins'>, bytes: number): MoneroPlan {
  const { feeRate, feeMin, feeMax } = request;
  const payouts = request.payouts.map(({ script }) => script);
  const takesAll = request.payouts.every(({ units }) => units === null);
  const inputs = plan.inputs.length;
  const least = bytes - BYTES_SAVED_MAX * inputs;
  for (let ringBytes = bytes; ringBytes >= least; ringBytes--) {
    const { fee, weight } = feeFor({ inputs, payouts, ringBytes }, feeRate, feeMin, takesAll);
    if (fee > feeMax && ringBytes > least) continue;
    if (fee > feeMax) throw tooDear(fee, feeMax);
    return { ...plan, outputs: outputsOf(request, total(plan.inputs) - fee), fee, weight: Number(weight) };
  }
  throw new Error('assertion failed: rings have bytes');
}

/** `coins`: the largest ones first. */
function tooMany(coins: readonly Coin[], feeWith: (coins: readonly Coin[]) => bigint): Rejected {
  const largest = coins.slice(0, INPUTS_MAX);
  const most = total(largest) - feeWith(largest);
  const what = `It takes more than ${INPUTS_MAX} coins, the most that one transaction may spend`;
  const advice =
    most > 0n ? `Pay up to ${formatUnits(most, assetOf('XMR'))} XMR at a time` : 'Wait until fees are lower';
  return new Rejected(
    'spend.too_many_coins',
    `${what}. ${advice}, or everything several times, which takes as many each time`,
  );
}

const tooDear = (fee: bigint, most: bigint): Rejected =>
  new Rejected('spend.fee_too_high', `Its fee of ${fee} would be above the limit of ${most}`);

const insufficient = (): Rejected => new Rejected('spend.insufficient', 'Insufficient balance');

/** The coins that are worth more than the fee for spending them, up to the approved sum. */
function everything({ spent, coins, payouts, feeRate, inputsMax }: MoneroRequest): Coin[] {
  if (payouts.length === 0) return spent;
  const cost = highestFee(2, [], feeRate) - highestFee(1, [], feeRate);
  const known = new Set(spent.map(({ outpoint }) => outpoint));
  const worth = coins.filter(({ outpoint, units }) => units > cost && !known.has(outpoint));
  const most = worth.toSorted((a, b) => (a.units > b.units ? -1 : 1)).slice(0, INPUTS_MAX - spent.length);
  return [...spent, ...oldestWithin(most, inputsMax)];
}

/** The fewest coins that suffice, the largest first, because inputs reveal that they have one owner. */
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
function outputsOf({ payouts, change }: Pick<MoneroRequest, 'payouts' | 'change'>, rest: bigint): PlannedOutput[] {
  const paid = payouts.map(({ units, ...to }): PlannedOutput => ({ kind: 'payout', ...to, units: units ?? rest }));
  const left = rest - total(paid);
  if (left < 0n || paid.some(({ units }) => units <= 0n)) throw insufficient();
  return left > 0n ? [...paid, { kind: 'change', ...change, units: left }] : paid;
}
