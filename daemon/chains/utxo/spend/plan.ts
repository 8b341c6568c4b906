/**
 * Plans a whole unsigned transaction from a request: coins, outputs, fee, lock time. A pure function: the same request
 * gives the same plan, so that a crash between planning and storing loses nothing.
 *
 * Invariants. Inputs are worth the outputs plus the fee. The fee is at least the fee rate times the size, and exceeds that
 * by at most the cost of a change output. No output is dust. Every required input is among them.
 *
 * Inputs and outputs are in BIP-69's order. That order depends on the transaction alone, so a checker can compute it, and
 * an output's place does not show which one is our change.
 */
import { assetOf } from '../../../domain/assets.ts';
import { assert, Rejected } from '../../../domain/errors.ts';
import { formatUnits } from '../../../domain/money.ts';
import {
  type Coin,
  oldestWithin,
  type PlannedOutput,
  type SpendRequest,
  type UtxoPlan,
} from '../../../domain/spend.ts';
import { scriptOf } from '../address.ts';
import type { UtxoChain } from '../params.ts';
import { FEE_TERMS, feeOf } from './fees.ts';
import { choose, type Market } from './select.ts';
import { dustOf, inputWeight, vsizeOf, WEIGHT_MAX, weightOf } from './sizes.ts';

/** Coins per transaction: signing each takes time, and 500 stay far below the limit of relay. */
export const INPUTS_MAX = 500;
/** How many times its fee a payment leaves where it is told how much goes at a time. */
const FEE_ROOM = 2n;
/** Withdrawals per batch. */
const PAYOUTS_MAX = 500;

const VERSION = 2;
/** Signals replacement (BIP-125) and keeps the lock time in force. */
const SEQUENCE_REPLACEABLE = 0xffff_fffd;
/** BCH has no replacement; this keeps the lock time in force. */
const SEQUENCE_LOCKED = 0xffff_fffe;
/** Higher lock times are times (BIP-65). */
const LOCK_TIME_HEIGHT_END = 500_000_000;

type Payout = { address: string; script: Uint8Array; units: bigint };

/**
 * The transaction for a request. Throws `Rejected`: `spend.insufficient` (with the missing amount), `spend.dust`,
 * `spend.too_many_coins`, `spend.too_large`, `spend.fee_too_high`.
 */
export function planUtxo(request: SpendRequest, chain: UtxoChain): UtxoPlan {
  const wallet = new Wallet(request, chain);
  const inputs = request.payouts.some(({ units }) => units === null) ? wallet.everything() : wallet.chosen();
  return finished(request, chain, inputs);
}

type Inputs = { coins: Coin[]; payouts: Payout[]; change: bigint | null };

/** The coins of a request, and the cost of spending them. */
class Wallet {
  readonly #request: SpendRequest;
  readonly #chain: UtxoChain;
  readonly #required: Coin[];
  readonly #optional: Coin[];
  /** Of the payouts, then of the change. */
  readonly #scripts: Uint8Array[];
  /** The script of a coin: all coins of an account have its form. */
  readonly #spent: Uint8Array | undefined;

  constructor(request: SpendRequest, chain: UtxoChain) {
    check(request, chain);
    this.#request = request;
    this.#chain = chain;
    this.#spent = request.coins[0]?.script;
    const requiredInputs = new Set(request.requiredInputs);
    this.#required = request.coins.filter(({ outpoint }) => requiredInputs.has(outpoint));
    assert(this.#required.length === requiredInputs.size, 'the required inputs are among the coins');
    const floor = this.#inputFee();
    const optional = request.coins.filter(
      (coin) => !requiredInputs.has(coin.outpoint) && coin.units > floor && this.#mayBeAdded(coin),
    );
    // excluded coins do not count against the approved sum
    this.#optional = oldestWithin(optional, request.inputsMax ?? null).sort(bySize);
    this.#scripts = request.payouts.map(({ script }) => script);
  }

  /** Rule 2 of BIP-125: a replacement adds no unconfirmed coin. */
  #mayBeAdded(coin: Coin): boolean {
    return this.#request.feeMin === 0n || coin.confirmations > 0;
  }

  /** The maximum cost of an input; coins worth less are left. */
  #inputFee(): bigint {
    const rate = this.#lines().reduce((most, line) => (line.rate > most ? line.rate : most), 0n);
    return feeOf(Math.ceil(inputWeight(this.#chain, this.#spent) / 4), rate) + 1n;
  }

  /** The fee is the highest of these: a fixed amount plus a rate. */
  #lines(): { fixed: bigint; rate: bigint }[] {
    const { feeRate, feeMin, parents } = this.#request;
    const lines = [{ fixed: 0n, rate: feeRate }];
    if (feeMin > 0n) lines.push({ fixed: feeMin, rate: FEE_TERMS[this.#chain].incremental });
    if (parents) {
      const short = feeOf(parents.vsize, feeRate) - parents.fee;
      lines.push({ fixed: short > 0n ? short : 0n, rate: feeRate });
    }
    return lines;
  }

  fee(inputs: number, change: boolean): bigint {
    const scripts = change ? [...this.#scripts, this.#request.change.script] : this.#scripts;
    const vsize = vsizeOf(weightOf(this.#chain, inputs, scripts, this.#spent));
    return this.#lines()
      .map(({ fixed, rate }) => fixed + feeOf(vsize, rate))
      .reduce((a, b) => (a > b ? a : b));
  }

  /** All coins worth more than their fee, for the one recipient. */
  everything(): Inputs {
    const { payouts } = this.#request;
    const [payout] = payouts;
    assert(payout && payouts.length === 1, 'everything goes to one recipient');
    const coins = [...this.#required, ...this.#optional];
    if (coins.length > INPUTS_MAX) throw this.#tooMany(coins);
    const units = total(coins) - this.fee(Math.max(1, coins.length), false);
    if (units < dustOf(this.#chain, payout.script)) {
      throw this.#insufficient(dustOf(this.#chain, payout.script) - units);
    }
    return { coins, payouts: [{ ...payout, units }], change: null };
  }

  /** The cheapest coins: confirmed ones; all only if these do not suffice. */
  chosen(): Inputs {
    const confirmed = this.#optional.filter(({ confirmations }) => confirmations > 0);
    const chosen = this.#chosenFrom(confirmed) ?? this.#chosenFrom(this.#optional);
    if (chosen) return chosen;
    const coins = [...this.#required, ...this.#optional];
    const { need, mayLackChange } = this.#market(this.#optional);
    const missing = need(Math.max(1, coins.length), !mayLackChange) - total(coins);
    throw missing > 0n ? this.#insufficient(missing) : this.#tooMany(coins);
  }

  #chosenFrom(optional: Coin[]): Inputs | null {
    const market = this.#market(optional);
    const choice = choose(market);
    if (!choice) return null;
    const coins = [...this.#required, ...choice.picks.map((at) => optional[at] as Coin)];
    const payouts = this.#payouts();
    const left = total(coins) - total(payouts);
    return { coins, payouts, change: choice.change ? left - this.fee(coins.length, true) : null };
  }

  #payouts(): Payout[] {
    return this.#request.payouts.map(({ units, ...payout }) => {
      assert(units !== null, 'an amount is given');
      return { ...payout, units };
    });
  }

  #market(optional: Coin[]): Market {
    const paid = total(this.#payouts());
    const { later } = FEE_TERMS[this.#chain];
    const { feeRate, change } = this.#request;
    const spendLater = feeOf(Math.ceil(inputWeight(this.#chain, this.#spent) / 4), feeRate < later ? feeRate : later);
    const dust = dustOf(this.#chain, change.script);
    // change worth less than its own spending is not made, unless it is the purpose
    const leastChange = paid > 0n && spendLater > dust ? spendLater : dust;
    const changeFee = this.fee(1, true) - this.fee(1, false);
    return {
      units: optional.map(({ units }) => units),
      fixedCount: this.#required.length,
      fixedUnits: total(this.#required),
      countMax: Math.max(0, INPUTS_MAX - this.#required.length),
      need: (count, withChange) => paid + this.fee(count, withChange) + (withChange ? leastChange : 0n),
      fee: (count) => this.fee(count, false),
      changeCost: changeFee + spendLater,
      mayLackChange: this.#request.payouts.length > 0,
    };
  }

  #insufficient(missing: bigint): Rejected {
    const asset = assetOf(this.#request.asset);
    const text = `${formatUnits(missing, asset)} ${asset.symbol}`;
    return new Rejected('spend.insufficient', `Insufficient balance: ${text} are missing, the network fee included`);
  }

  #tooMany(coins: Coin[]): Rejected {
    const asset = assetOf(this.#request.asset);
    const largest = [...coins].sort(bySize).slice(0, INPUTS_MAX);
    const fee = this.fee(INPUTS_MAX, false);
    const worth = total(largest);
    const least = dustOf(this.#chain, this.#scripts[0] ?? this.#request.change.script);
    // a fee is approved with room for a rate that doubles, where that leaves most of it
    const room = worth > 2n * FEE_ROOM * fee ? FEE_ROOM * fee : fee;
    const what = `This takes more than ${INPUTS_MAX} coins, the most that one transaction may spend`;
    const advice =
      worth - room >= least
        ? `Withdraw up to ${formatUnits(worth - room, asset)} ${asset.symbol} at a time, one after the other, until no more than ${INPUTS_MAX} coins are left`
        : 'The fee for that many takes all that they are worth: wait until blocks ask for less';
    return new Rejected('spend.too_many_coins', `${what}. ${advice}`);
  }
}

/** Checks a request. A recipient's amount must not be dust. */
function check(request: SpendRequest, chain: UtxoChain): void {
  const { network, payouts, change, coins, tipHeight, feeRate, feeMin } = request;
  assert(feeRate > 0n && feeMin >= 0n, 'a fee rate is positive');
  assert(Number.isInteger(tipHeight) && tipHeight >= 0 && tipHeight < LOCK_TIME_HEIGHT_END, 'the tip has a height');
  assert(new Set(coins.map(({ outpoint }) => outpoint)).size === coins.length, 'no coin is there twice');
  assert(payouts.length > 0 || request.requiredInputs.length > 0, 'something is paid or moved');
  for (const { address, script } of [...payouts, change]) {
    assert(sameBytes(scriptOf(address, chain, network), script), `the script is that of the address ${address}`);
  }
  if (payouts.length > PAYOUTS_MAX) {
    throw new Rejected('spend.too_large', `One transaction pays at most ${PAYOUTS_MAX} recipients`);
  }
  for (const { script, units } of payouts) {
    const dust = dustOf(chain, script);
    if (units !== null && units < dust) {
      const least = formatUnits(dust, assetOf(request.asset));
      throw new Rejected('spend.dust', `The network relays no payment to this address below ${least}`, 'amount');
    }
  }
}

function finished(request: SpendRequest, chain: UtxoChain, { coins, payouts, change }: Inputs): UtxoPlan {
  const outputs: PlannedOutput[] = payouts.map((payout) => ({ kind: 'payout', ...payout }));
  if (change !== null) outputs.push({ kind: 'change', ...request.change, units: change });
  const fee = total(coins) - total(outputs);
  const weight = weightOf(
    chain,
    coins.length,
    outputs.map(({ script }) => script),
    coins[0]?.script,
  );
  if (weight > WEIGHT_MAX) throw new Rejected('spend.too_large', 'This transaction is larger than nodes relay');
  if (fee > request.feeMax) {
    const asset = assetOf(request.asset);
    const [is, most] = [fee, request.feeMax].map((units) => `${formatUnits(units, asset)} ${asset.symbol}`);
    throw new Rejected('spend.fee_too_high', `The network fee would be ${is}, above the limit of ${most}`);
  }
  const sequence = chain === 'BCH' ? SEQUENCE_LOCKED : SEQUENCE_REPLACEABLE;
  return {
    kind: 'utxo',
    network: request.network,
    chain,
    accountNo: request.accountNo,
    version: VERSION,
    // like Core, against miners who would mine an old block again for its fees: valid only after the tip
    lockTime: request.tipHeight,
    inputs: coins.map((coin) => ({ ...coin, sequence })).sort(byOutpoint),
    outputs: outputs.sort(byAmount),
    fee,
    vsize: vsizeOf(weight),
  };
}

const total = (amounts: readonly { units: bigint }[]): bigint => amounts.reduce((sum, { units }) => sum + units, 0n);

function sameBytes(a: Uint8Array | null, b: Uint8Array): boolean {
  return a !== null && Buffer.compare(a, b) === 0;
}

const compare = <T>(a: T, b: T): number => (a < b ? -1 : a > b ? 1 : 0);

/** Descending; equal coins by depth, then in an order independent of the listing. */
function bySize(a: Coin, b: Coin): number {
  return compare(b.units, a.units) || b.confirmations - a.confirmations || compare(a.outpoint, b.outpoint);
}

/** BIP-69: by displayed id, then by output number. */
function byOutpoint(a: Coin, b: Coin): number {
  const [idA, idB] = [a.outpoint.slice(0, 64), b.outpoint.slice(0, 64)];
  return compare(idA, idB) || Number(a.outpoint.slice(65)) - Number(b.outpoint.slice(65));
}

/** BIP-69: by amount, then by the script's bytes. */
function byAmount(a: PlannedOutput, b: PlannedOutput): number {
  return compare(a.units, b.units) || Buffer.compare(a.script, b.script);
}
