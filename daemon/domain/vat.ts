/** VAT that is included in prices, and refunds that are taken off several rates. */

import { FIAT } from './currencies.ts';
import { FIAT_DECIMALS } from './money.ts';

const RATE_SCALE = 10_000n;
const DECIMALS_DEFAULT = 2;

/** The smallest unit of a currency, 1e-8. */
export const stepOf = (currency: string): bigint => 10n ** BigInt(FIAT_DECIMALS - (FIAT[currency] ?? DECIMALS_DEFAULT));

/**
 * The tax in a gross amount, in the same unit; the rate is hundredths of a percent. `step`: of the currency's smallest unit. Rounded to
 * whole steps, a half away from zero, as EN 16931 rounds sums of a rate (BR-CO-17).
 */
export function taxIn(gross: bigint, rate: number, step: bigint): bigint {
  const [amount, sign] = gross < 0n ? [-gross, -1n] : [gross, 1n];
  const below = (RATE_SCALE + BigInt(rate)) * step;
  const steps = (2n * amount * BigInt(rate) + below) / (2n * below);
  return sign * steps * step;
}

/** Shares an amount out by weights: rounded down, and the rest goes to the largest weight. The shares add up to the amount. */
export function shared(amount: bigint, weights: readonly bigint[]): bigint[] {
  const whole = weights.reduce((sum, one) => sum + one, 0n);
  if (whole === 0n) return weights.map((_, at) => (at === 0 ? amount : 0n));
  const shares = weights.map((one) => (amount * one) / whole);
  const largest = weights.reduce((best, one, at) => (one > weights[best]! ? at : best), 0);
  shares[largest]! += amount - shares.reduce((sum, one) => sum + one, 0n);
  return shares;
}
