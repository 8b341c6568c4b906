/**
 * Selects the coins to spend. All coins of a wallet weigh the same as inputs, so the cost of a selection depends on their
 * number and on the rest: with change, the fewest coins; without change, coins whose sum matches. Both selections are
 * computed, and the cheaper one is taken; the cost of spending the change later counts.
 *
 * Invariant: the same coins give the same choice, and the search takes a bounded number of steps.
 */

/** Amounts are smallest units of one asset. */
export type Market = {
  /** The values of the optional coins, descending. */
  units: readonly bigint[];
  /** The number and sum of the coins that must be spent. */
  fixedCount: number;
  fixedUnits: bigint;
  /** The maximum number of optional coins. */
  countMax: number;
  /** The minimum value of `count` inputs in total: payouts and fee, and with change the least change. */
  need(count: number, change: boolean): bigint;
  /** The cost of `count` inputs without change at exactly the minimum value; grows with the count. */
  fee(count: number): bigint;
  /** The additional cost of change, now and when it is spent. */
  changeCost: bigint;
  /** False if change is the purpose. */
  mayLackChange: boolean;
};

/** Positions in `units`; `change`: whether the rest becomes change or fee. */
type Choice = { picks: number[]; change: boolean };

/** The limit of the search for a sum without change. Each step is a binary search; all take some milliseconds. */
const STEPS_MAX = 10_000;

/** The cheapest choice found, or null if no choice suffices. */
export function choose(market: Market): Choice | null {
  const sums = prefixSums(market.units);
  const withChange = fewest(market, sums, true);
  const without = market.mayLackChange ? fewest(market, sums, false) : null;
  const first = without === null ? 0 : without;
  const changeCost = withChange === null ? null : market.fee(market.fixedCount + withChange) + market.changeCost;
  const plainCost = without === null ? null : costWithout(market, sums[without] as bigint, without);
  const limit = least(changeCost, plainCost);
  if (limit === null) return null;
  const exact = market.mayLackChange ? withoutChange(market, sums, first, limit) : null;
  if (exact) return { picks: exact, change: false };
  if (withChange !== null && limit === changeCost) return { picks: tightened(market, sums, withChange), change: true };
  return { picks: firstOf(first), change: false };
}

const firstOf = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

function least(a: bigint | null, b: bigint | null): bigint | null {
  if (a === null || b === null) return a ?? b;
  return a <= b ? a : b;
}

/** Without change, the excess becomes fee. */
function costWithout(market: Market, sum: bigint, count: number): bigint {
  const inputs = market.fixedCount + count;
  return market.fee(inputs) + (market.fixedUnits + sum - market.need(inputs, false));
}

/** `sums[n]`: the value of the `n` largest. */
function prefixSums(units: readonly bigint[]): bigint[] {
  const sums = [0n];
  let sum = 0n;
  for (const each of units) {
    sum += each;
    sums.push(sum);
  }
  return sums;
}

/** The smallest sufficient number of optional coins: that many of the largest. */
function fewest(market: Market, sums: readonly bigint[], change: boolean): number | null {
  const max = Math.min(market.countMax, market.units.length);
  for (let count = market.fixedCount > 0 ? 0 : 1; count <= max; count++) {
    if (market.fixedUnits + (sums[count] as bigint) >= market.need(market.fixedCount + count, change)) return count;
  }
  return null;
}

/** As many coins as the fewest sufficient ones, but smaller ones: the cost is the same, and large coins are kept. */
function tightened(market: Market, sums: readonly bigint[], count: number): number[] {
  const { units } = market;
  const picks = firstOf(count);
  const taken = new Set(picks);
  const need = market.need(market.fixedCount + count, true) - market.fixedUnits;
  let sum = sums[count] as bigint;
  for (let slot = count - 1; slot >= 0; slot--) {
    const current = picks[slot] as number;
    const wanted = need - (sum - (units[current] as bigint));
    let better = lastOfAtLeast(units, wanted > 0n ? wanted : 0n);
    while (better > current && taken.has(better)) better--;
    if (better <= current) continue;
    taken.delete(current);
    taken.add(better);
    picks[slot] = better;
    sum += (units[better] as bigint) - (units[current] as bigint);
  }
  return picks;
}

/** The last position of a descending list with a value of at least `value`, or -1. */
function lastOfAtLeast(units: readonly bigint[], value: bigint): number {
  let low = 0;
  let high = units.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((units[middle] as bigint) >= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Coins without change that cost less than `limit`, excess included; the cheapest found within the steps. Branch and
 * bound for each count of coins, because a count fixes the target sum.
 */
function withoutChange(market: Market, sums: readonly bigint[], from: number, limit: bigint): number[] | null {
  const search = new Search(market.units, sums);
  let best: number[] | null = null;
  let bound = limit;
  for (let count = from; count <= Math.min(market.countMax, market.units.length); count++) {
    const inputs = market.fixedCount + count;
    const fee = market.fee(inputs);
    if (fee >= bound || search.isSpent) break;
    const low = market.need(inputs, false) - market.fixedUnits;
    const found = search.sumsTo(count, low, low + bound - fee - 1n);
    if (!found) continue;
    best = found.picks;
    bound = fee + (found.sum - low);
  }
  return best;
}

class Search {
  readonly #units: readonly bigint[];
  readonly #sums: readonly bigint[];
  #steps = 0;
  #low = 0n;
  #high = 0n;
  #path: number[] = [];
  #best: { picks: number[]; sum: bigint } | null = null;

  constructor(units: readonly bigint[], sums: readonly bigint[]) {
    this.#units = units;
    this.#sums = sums;
  }

  get isSpent(): boolean {
    return this.#steps >= STEPS_MAX;
  }

  /** The `count` coins with the lowest sum from `low` to `high` that the steps find. */
  sumsTo(count: number, low: bigint, high: bigint): { picks: number[]; sum: bigint } | null {
    this.#low = low;
    this.#high = high;
    this.#best = null;
    this.#path = [];
    if (count === 0) return low <= 0n && high >= 0n ? { picks: [], sum: 0n } : null;
    this.#extend(0, count, 0n);
    return this.#best;
  }

  /** Adds `left` more coins, from position `start` on, to the path with the value `sum`. */
  #extend(start: number, left: number, sum: bigint): void {
    const units = this.#units;
    if (left === 1) {
      this.#finish(start, sum);
      return;
    }
    const smallest = this.#between(units.length - (left - 1), units.length);
    // the largest coin that leaves room for the smallest others: no earlier one can be on the path
    const first = Math.max(start, lastOfAtLeast(units, this.#high - sum - smallest + 1n) + 1);
    for (let at = first; at + left <= units.length; at++) {
      if (sum + this.#between(at, at + left) < this.#low) return;
      if (this.isSpent || this.#high < this.#low) return;
      const unit = units[at] as bigint;
      this.#steps++;
      this.#path.push(at);
      this.#extend(at + 1, left - 1, sum + unit);
      this.#path.pop();
      // an equal coin leads to nothing new
      at = lastOfAtLeast(units, unit);
    }
  }

  /** The last coin: the smallest sufficient one. */
  #finish(start: number, sum: bigint): void {
    this.#steps++;
    const at = lastOfAtLeast(this.#units, this.#low - sum);
    if (at < start) return;
    const total = sum + (this.#units[at] as bigint);
    if (total > this.#high) return;
    this.#best = { picks: [...this.#path, at], sum: total };
    // from now on only closer sums
    this.#high = total - 1n;
  }

  #between(from: number, to: number): bigint {
    return (this.#sums[to] as bigint) - (this.#sums[from] as bigint);
  }
}
