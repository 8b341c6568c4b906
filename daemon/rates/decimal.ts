/**
 * Reads prices from JSON as integers in 1e-8.
 *
 * Invariant: a price never passes through a floating-point number. Numbers of a JSON text stay text, and digits beyond
 * the eighth are rounded down.
 */

/** The result of `parseJson`: JSON with every number as its text. */
export type Json = string | boolean | null | Json[] | { [key: string]: Json };

/** Above 1e12 per coin or dollar something is wrong, in 1e-8. */
const PRICE_MAX = 10n ** 20n;

/** Bounded, so that no text makes an integer of a size that hurts; JSON numbers may carry an exponent. */
const NUMBER = /^(\d{1,30})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/;

/**
 * Far above the 5,000 of the longest answer, every pair of an exchange. Each value calls the reviver of `parseJson`: a
 * document of half a million would hold the event loop for half a second.
 */
export const VALUES_MAX = 20_000;
const VALUE_BEGINS = /[[{,]/g;

const SCALE = 8;

const pow10 = (n: number): bigint => 10n ** BigInt(n);

/**
 * Parses JSON and keeps numbers exactly, as text ("6.59981e4"). Throws SyntaxError, or RangeError when nested too deep
 * or with more than `VALUES_MAX` values.
 */
export function parseJson(text: string): Json {
  let values = 0;
  for (const _ of text.matchAll(VALUE_BEGINS)) if (++values > VALUES_MAX) throw new RangeError('too many values');
  const keepText = (_key: string, value: unknown, context: { source: string }): unknown =>
    typeof value === 'number' ? context.source : value;
  // The third argument of a reviver (ES2026, "JSON.parse source text access") is not in TypeScript's es2024 library.
  return JSON.parse(text, keepText as (key: string, value: unknown) => unknown) as Json;
}

function digitsOf(value: unknown): { digits: bigint; places: number } | null {
  const match = typeof value === 'string' ? NUMBER.exec(value) : null;
  if (!match) return null;
  const fraction = match[2] ?? '';
  return { digits: BigInt(match[1] + fraction), places: fraction.length - Number(match[3] ?? '0') };
}

const plausible = (scaled: bigint): bigint | null => (scaled > 0n && scaled <= PRICE_MAX ? scaled : null);

/** A price's text in 1e-8, rounded down; null when it is no positive decimal or absurd (above 1e12). */
export function priceDown(value: unknown): bigint | null {
  const parsed = digitsOf(value);
  if (!parsed) return null;
  const shift = SCALE - parsed.places;
  return plausible(shift >= 0 ? parsed.digits * pow10(shift) : parsed.digits / pow10(-shift));
}

/** One divided by the text's value, in 1e-8, rounded down; null as in `priceDown`. */
export function inverseDown(value: unknown): bigint | null {
  const parsed = digitsOf(value);
  if (!parsed || parsed.digits === 0n) return null;
  const power = SCALE + parsed.places;
  return plausible(power >= 0 ? pow10(power) / parsed.digits : 0n);
}
