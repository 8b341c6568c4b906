/**
 * Money as integers. A crypto amount counts the asset's smallest units, a fiat amount counts 1e-8, a rate counts 1e-8
 * fiat per coin. Parsing never rounds. Only `cryptoFor`, `divideUp` and `shareOf` (up), and `fiatFor`, `dollarsFor` and `unitsWorth` (down) round.
 */
import type { Asset, AssetId } from './assets.ts';
import { assert } from './errors.ts';

export type Amount = { asset: AssetId; units: bigint };

/** `scaled`: 1e-8 fiat per whole coin. `at`: milliseconds since 1970. */
export type Rate = { scaled: bigint; at: number };

/** Decimals of every fiat amount inside the program. */
export const FIAT_DECIMALS = 8;

export const SHOWN_FIAT = ['USD', 'EUR', 'GBP'] as const;

const DECIMAL = /^(\d{1,30})(?:\.(\d{1,60}))?$/;

/**
 * Parses a decimal ("12.50") as an integer that counts 10^-decimals. Null if the text is no decimal, has more digits than that (trailing
 * zeros do not count), or has more than 30 digits before the point.
 */
export function parseDecimal(text: string, decimals: number): bigint | null {
  const match = DECIMAL.exec(text);
  if (!match) return null;
  const fraction = (match[2] ?? '').replace(/0+$/, '');
  if (fraction.length > decimals) return null;
  return BigInt(match[1] + fraction.padEnd(decimals, '0'));
}

/** Formats an integer that counts 10^-decimals, without trailing zeros. */
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

/** An equal share of a sum, rounded up, so that the shares are never less than it. */
export const shareOf = (sum: bigint, shares: number): bigint => divideUp(sum, BigInt(Math.max(1, shares)));

const pow10 = (n: number): bigint => 10n ** BigInt(n);

/** The units that are worth at least `fiat` at `scaled` (both 1e-8), rounded up to the asset's quoting precision. */
export function cryptoFor(fiat: bigint, asset: Asset, scaled: bigint): bigint {
  assert(scaled > 0n, 'a rate is positive');
  const quoted = divideUp(fiat * pow10(asset.quoteDecimals), scaled);
  return quoted * pow10(asset.decimals - asset.quoteDecimals);
}

/** The value of `units` of `asset` at `scaled`, in 1e-8 fiat, rounded down. */
export function fiatFor(units: bigint, asset: Asset, scaled: bigint): bigint {
  return (units * scaled) / pow10(asset.decimals);
}

/** The dollars (1e-8) that `fiat` (1e-8) is worth at `perDollar` (1e-8 units of its currency per dollar), rounded down. */
export function dollarsFor(fiat: bigint, perDollar: bigint): bigint {
  return (fiat * pow10(FIAT_DECIMALS)) / perDollar;
}

/** The smallest units of `asset` that `fiat` (1e-8) buys at `scaled`: rounded down, at the asset's quoting precision. */
export function unitsWorth(fiat: bigint, asset: Asset, scaled: bigint): bigint {
  assert(scaled > 0n, 'a rate is positive');
  const quoted = (fiat * pow10(asset.quoteDecimals)) / scaled;
  return quoted * pow10(asset.decimals - asset.quoteDecimals);
}

/** A crypto amount as the decimal string for clients. */
export function formatUnits(units: bigint, asset: Asset): string {
  return formatDecimal(units, asset.decimals);
}

const JSON_NUMBER = /^(-?)(\d{1,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,3}))?$/;
/** Removes the noise of floating-point arithmetic in a shop: 59.97000000000001 is 59.97. */
const NOISE_DECIMALS = 6;

/** The number is `digits` / `one`, in units of 10^-decimals. Null if it is negative or no JSON number. */
function fractionOf(source: string, decimals: number): { digits: bigint; one: bigint } | null {
  const match = JSON_NUMBER.exec(source);
  if (!match || match[1] === '-') return null;
  const fraction = match[3] ?? '';
  const digits = BigInt(match[2] + fraction);
  const shift = Number.parseInt(match[4] ?? '0', 10) - fraction.length + decimals;
  return shift >= 0 ? { digits: digits * pow10(shift), one: 1n } : { digits, one: pow10(-shift) };
}

/**
 * Parses a JSON number as an integer that counts 10^-decimals, if it is within 0.000001 of one. Null otherwise, and for
 * a negative number. Does not use floating point.
 */
export function snapDecimal(source: string, decimals: number): bigint | null {
  const number = fractionOf(source, decimals);
  if (!number) return null;
  const { digits, one } = number;
  const nearest = (2n * digits + one) / (2n * one);
  const off = digits > nearest * one ? digits - nearest * one : nearest * one - digits;
  return off * pow10(NOISE_DECIMALS) <= one * pow10(decimals) ? nearest : null;
}

/**
 * Parses a JSON number as an integer that counts 10^-decimals. Null if it is negative, no number, or has more digits
 * than that. Never rounds; for crypto amounts.
 */
export function exactDecimal(source: string, decimals: number): bigint | null {
  const number = fractionOf(source, decimals);
  return number && number.digits % number.one === 0n ? number.digits / number.one : null;
}

export const minOf = (a: bigint, b: bigint): bigint => (a < b ? a : b);
export const sumOf = (parts: readonly { units: bigint }[]): bigint => parts.reduce((sum, { units }) => sum + units, 0n);
export const maxOf = (a: bigint, b: bigint): bigint => (a > b ? a : b);
