/**
 * Fee bounds of each chain: between which rates a source's estimate is believed, and the fallback without one. Rates
 * are smallest units per 1,000 virtual bytes.
 *
 * Invariant: a wrong estimate cannot make us pay more than the ceiling, or less than nodes relay.
 */
import { divideUp } from '../../../domain/money.ts';
import type { UtxoChain } from '../params.ts';

type FeeTerms = {
  /** DEFAULT_MIN_RELAY_TX_FEE of the chain's nodes: they do not relay transactions below it. */
  floor: bigint;
  /** About five times the highest rates of the last years. */
  ceiling: bigint;
  /** For a source without an estimate: a new or idle chain. */
  fallback: bigint;
  /** DEFAULT_INCREMENTAL_RELAY_FEE: a replacement pays this for its own size, on top of the replaced fees. */
  incremental: bigint;
  /** The cost of spending a coin in quiet times: smaller change is not made. */
  later: bigint;
};

/** Sources: `policy.h` of Bitcoin Core 28, Litecoin Core 0.21 and Bitcoin Cash Node. BCH has no replacement. */
export const FEE_TERMS: Readonly<Record<UtxoChain, FeeTerms>> = {
  BTC: { floor: 1_000n, ceiling: 1_000_000n, fallback: 5_000n, incremental: 1_000n, later: 10_000n },
  LTC: { floor: 1_000n, ceiling: 1_000_000n, fallback: 10_000n, incremental: 1_000n, later: 10_000n },
  BCH: { floor: 1_000n, ceiling: 100_000n, fallback: 1_200n, incremental: 1_000n, later: 1_000n },
};

export const TARGET_BLOCKS_MAX = 1_008;

/**
 * The rate to pay, from a source's estimate (null: none) and its mempool's current minimum. The minimum applies even
 * above the estimate; the ceiling limits both.
 */
export function feeRateFrom(chain: UtxoChain, estimate: bigint | null, least: bigint): bigint {
  const { floor, ceiling, fallback } = FEE_TERMS[chain];
  const wanted = [estimate ?? fallback, least, floor].reduce((a, b) => (a > b ? a : b));
  return wanted < ceiling ? wanted : ceiling;
}

/** The fee of a size at a rate, rounded up. */
export function feeOf(vsize: number, rate: bigint): bigint {
  return divideUp(BigInt(vsize) * rate, 1_000n);
}

/**
 * The lowest rate at which a transaction may replace others: above each of their rates by the incremental relay fee.
 * (BIP-125 compares only sums of fees; nodes compare rates as well.)
 */
export function replacementRate(chain: UtxoChain, replaced: readonly { fee: bigint; vsize: number }[]): bigint {
  const { floor, incremental } = FEE_TERMS[chain];
  const rates = replaced.map(({ fee, vsize }) => divideUp(fee * 1_000n, BigInt(vsize)) + incremental);
  return rates.reduce((a, b) => (a > b ? a : b), floor);
}
