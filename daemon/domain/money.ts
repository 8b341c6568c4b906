/**
 * Money as integers. An amount of crypto counts the asset's smallest units, an amount of fiat counts 1e-8 of the
 * currency's unit, a rate counts 1e-8 fiat per whole coin. Parsing never rounds; `cryptoFor` and `fiatFor` are the only
 * places that do, and their names say which way.
 */
import type { Asset, AssetId } from './assets.ts';
import { assert } from './errors.ts';

export type Amount = { asset: AssetId; units: bigint };

/** `scaled`: 1e-8 fiat per whole coin. `at`: milliseconds since 1970. */
export type Rate = { asset: AssetId; fiat: string; scaled: bigint; at: number };

/** Digits after the point of every fiat amount inside the program. */
export const FIAT_DECIMALS = 8;

/** The fiat currencies in which rates are shown. */
export const SHOWN_FIAT = ['USD', 'EUR', 'GBP'] as const;

const DECIMAL = /^(\d{1,30})(?:\.(\d{1,60}))?$/;

/**
 * The integer that counts 10^-decimals of a plain decimal ("12.50"), or null when the text is not one or has more
 * digits after the point than that. Trailing zeros are no precision.
 */
export function parseDecimal(text: string, decimals: number): bigint | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const fraction = (match[2] ?? '').replace(/0+$/, '');
  if (fraction.length > decimals) return null;
  return BigInt(match[1] + fraction.padEnd(decimals, '0'));
}

/** The plain decimal of an integer that counts 10^-decimals, without trailing zeros. */
export function formatDecimal(units: bigint, decimals: number): string {
  if (units < 0n) return `-${formatDecimal(-units, decimals)}`;
  if (decimals === 0) return units.toString();
  const digits = units.toString().padStart(decimals + 1, '0');
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  const whole = digits.slice(0, -decimals);
  return fraction ? `${whole}.${fraction}` : whole;
}

/** a / b for non-negative integers, rounded up. */
export function divideUp(a: bigint, b: bigint): bigint {
  assert(a >= 0n && b > 0n, 'divideUp takes a >= 0, b > 0');
  return (a + b - 1n) / b;
}

const pow10 = (n: number): bigint => 10n ** BigInt(n);

/**
 * The smallest units of `asset` that are worth at least `fiat` (1e-8) at `scaled` (1e-8 fiat per coin): rounded up, at
 * the asset's quoting precision.
 */
export function cryptoFor(fiat: bigint, asset: Asset, scaled: bigint): bigint {
  assert(scaled > 0n, 'a rate is positive');
  const quoted = divideUp(fiat * pow10(asset.quoteDecimals), scaled);
  return quoted * pow10(asset.decimals - asset.quoteDecimals);
}

/** What `units` of `asset` are worth at `scaled`, in 1e-8 fiat, rounded down. */
export function fiatFor(units: bigint, asset: Asset, scaled: bigint): bigint {
  return (units * scaled) / pow10(asset.decimals);
}

/** A crypto amount as the decimal string that clients see. */
export function formatUnits(units: bigint, asset: Asset): string {
  return formatDecimal(units, asset.decimals);
}

const JSON_NUMBER = /^(-?)(\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,3}))?$/;
/** What floating-point arithmetic in a shop leaves: 59.97000000000001 is 59.97. */
const NOISE_DECIMALS = 6;

/**
 * The number that a JSON text spells, as an integer that counts 10^-decimals, when it lies within 0.000001 of one; null
 * when it does not, is negative, or is no number. Exact: the text is never made a floating-point number.
 */
export function snapDecimal(source: string, decimals: number): bigint | null {
  const match = JSON_NUMBER.exec(source);
  if (!match || match[1] === '-') return null;
  const fraction = match[3] ?? '';
  const digits = BigInt(match[2] + fraction);
  // the value is digits × 10^shift, in units of 10^-decimals
  const shift = Number.parseInt(match[4] ?? '0', 10) - fraction.length + decimals;
  if (shift >= 0) return digits * pow10(shift);
  const one = pow10(-shift);
  const nearest = (2n * digits + one) / (2n * one);
  const off = digits > nearest * one ? digits - nearest * one : nearest * one - digits;
  return off * pow10(NOISE_DECIMALS) <= one * pow10(decimals) ? nearest : null;
}

/**
 * The number that a JSON text spells, as an integer that counts 10^-decimals; null when it is negative, no number, or
 * has more digits than that. Nothing is rounded: for amounts of crypto, where every unit counts.
 */
export function exactDecimal(source: string, decimals: number): bigint | null {
  const match = JSON_NUMBER.exec(source);
  if (!match || match[1] === '-') return null;
  const fraction = match[3] ?? '';
  const digits = BigInt(match[2] + fraction);
  const shift = Number.parseInt(match[4] ?? '0', 10) - fraction.length + decimals;
  if (shift >= 0) return digits * pow10(shift);
  const one = pow10(-shift);
  return digits % one === 0n ? digits / one : null;
}

export const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const maxOf = (a: bigint, b: bigint): bigint => (a > b ? a : b);
