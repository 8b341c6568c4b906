/**
 * What blocks' space costs on each chain: the bounds between which a source's estimate is believed, and what stands in
 * for one that has none. Rates are smallest units per 1,000 virtual bytes.
 *
 * Invariant: no estimate, however wrong, makes us pay more than the ceiling, nor less than what nodes relay.
 */
import { divideUp } from '../../../domain/money.ts';
import type { UtxoChain } from '../params.ts';

export type FeeTerms = {
  /** DEFAULT_MIN_RELAY_TX_FEE of the chain's nodes: below it they do not pass a transaction on. */
  floor: bigint;
  /** About five times what blocks ever asked for in the last years. */
  ceiling: bigint;
  /** For a source without an estimate: a new or idle chain. */
  fallback: bigint;
  /** DEFAULT_INCREMENTAL_RELAY_FEE: what a replacement pays for its own size, on top of what it replaces. */
  incremental: bigint;
  /** What spending a coin costs in quiet times: when change is worth less than that, it is not made. */
  later: bigint;
};

/** Sources: `policy.h` of Bitcoin Core 28, Litecoin Core 0.21 and Bitcoin Cash Node. BCH knows no replacement. */
export const FEE_TERMS: Readonly<Record<UtxoChain, FeeTerms>> = {
  BTC: { floor: 1_000n, ceiling: 1_000_000n, fallback: 5_000n, incremental: 1_000n, later: 10_000n },
  LTC: { floor: 1_000n, ceiling: 1_000_000n, fallback: 10_000n, incremental: 1_000n, later: 10_000n },
  BCH: { floor: 1_000n, ceiling: 100_000n, fallback: 1_200n, incremental: 1_000n, later: 1_000n },
};

export const TARGET_BLOCKS_MAX = 1_008;

/**
 * The rate to pay, from a source's estimate (null: it has none) and from the least that it takes into its mempool now.
 * That least rate counts even above the estimate; the ceiling holds above both.
 */
export function feeRateFrom(chain: UtxoChain, estimate: bigint | null, least: bigint): bigint {
  const { floor, ceiling, fallback } = FEE_TERMS[chain];
  const wanted = [estimate ?? fallback, least, floor].reduce((a, b) => (a > b ? a : b));
  return wanted < ceiling ? wanted : ceiling;
}

/** The fee of a size at a rate, rounded up, so that no node finds it a unit short. */
export function feeOf(vsize: number, rate: bigint): bigint {
  return divideUp(BigInt(vsize) * rate, 1_000n);
}

/**
 * The least rate with which a transaction may replace others: above that of each (BIP-125 leaves it to the sum of the
 * fees; nodes compare the rates as well), by the incremental relay fee.
 */
export function replacementRate(chain: UtxoChain, replaced: readonly { fee: bigint; vsize: number }[]): bigint {
  const { floor, incremental } = FEE_TERMS[chain];
  const rates = replaced.map(({ fee, vsize }) => divideUp(fee * 1_000n, BigInt(vsize)) + incremental);
  return rates.reduce((a, b) => (a > b ? a : b), floor);
}
