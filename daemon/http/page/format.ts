/** Money and time in a reader's words. Exact: no amount passes through a floating-point number. */
import type { Asset } from '../../domain/assets.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';

const MS_PER_MINUTE = 60_000;
const MINUTES_PER_HOUR = 60;
const MINUTES_PER_DAY = 1_440;
const COARSE_FROM = 10n ** BigInt(FIAT_DECIMALS);
const FINE_DIGITS = 6;

/** What payers call the asset: on every network a USDT is a USDT. */
export const tickerOf = (asset: Asset): string => (asset.priceSymbol === 'USDT' ? 'USDT' : asset.symbol);

/** The asset's name without the network in brackets, where that is named by itself. */
export const plainName = (asset: Asset): string => asset.name.replace(/ \([^)]*\)$/, '');

/** "0.0123 LTC" */
export const crypto = (units: bigint, asset: Asset): string => `${formatUnits(units, asset)} ${tickerOf(asset)}`;

/** A fiat amount (1e-8) in its currency's usual form. What is finer than that is cut off; a small rate has 6 digits. */
export function fiat(scaled: bigint, currency: string, locale: string): string {
  const small = scaled > 0n && scaled < COARSE_FROM;
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    roundingMode: 'trunc',
    ...(small ? { maximumFractionDigits: FINE_DIGITS } : {}),
  });
  // NumberFormat reads a decimal string exactly
  return format.format(formatDecimal(scaled, FIAT_DECIMALS) as Intl.StringNumericLiteral);
}

/** "21 Nov 2026, 14:05 UTC" */
export function instant(at: number, locale: string): string {
  const text = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
  return `${text.format(at)} UTC`;
}

/** "in 12 minutes", "in 3 hours": whole units, rounded down, so that nobody is told too much time. */
export function fromNow(at: number, now: number, locale: string): string {
  const minutes = Math.max(0, Math.floor((at - now) / MS_PER_MINUTE));
  const format = new Intl.RelativeTimeFormat(locale, { numeric: 'always' });
  if (minutes < 2 * MINUTES_PER_HOUR) return format.format(minutes, 'minute');
  if (minutes < 2 * MINUTES_PER_DAY) return format.format(Math.floor(minutes / MINUTES_PER_HOUR), 'hour');
  return format.format(Math.floor(minutes / MINUTES_PER_DAY), 'day');
}

/** A machine's form of the instant, for `datetime`. */
export const isoOf = (at: number): string => new Date(at).toISOString();

/** The address in pieces that an eye can compare: its prefix (CashAddr's, or 0x), then fours. Joined it is the address. */
export function inGroups(address: string): string[] {
  const prefix = /^(?:[a-z]+:|0x)/.exec(address)?.[0] ?? '';
  const groups = address.slice(prefix.length).match(/.{1,4}/gsu) ?? [];
  return prefix ? [prefix, ...groups] : groups;
}
