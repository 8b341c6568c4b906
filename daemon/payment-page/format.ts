/** Money and time in the reader's language. No amount passes through a floating-point number. */
import type { Asset } from '../domain/assets.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../domain/money.ts';
import { type Html, html } from './html.ts';
import type { Funds, Received } from './model.ts';

const SECONDS_PER_MINUTE = 60;
const MINUTES_PER_HOUR = 60;
const COARSE_FROM = 10n ** BigInt(FIAT_DECIMALS);
const FINE_DIGITS = 6;
const FORMATTERS_MAX = 500;

/** Making a formatter costs as much as a page. A payer's tag may name any region, so their number has a limit. */
const formatters = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();
function kept<T extends Intl.NumberFormat | Intl.DateTimeFormat>(key: string, make: () => T): T {
  let found = formatters.get(key) as T | undefined;
  if (!found) {
    if (formatters.size >= FORMATTERS_MAX) formatters.clear();
    found = make();
    formatters.set(key, found);
  }
  return found;
}

/** The ticker for payers: a USDT is a USDT on every network. */
export const tickerOf = (asset: Asset): string => (asset.priceSymbol === 'USDT' ? 'USDT' : asset.symbol);

/** The asset's name without the network in brackets. */
export const plainName = (asset: Asset): string => asset.name.replace(/ \([^)]*\)$/, '');

export const plainNetwork = (asset: Asset): string => asset.networkName.replace(/ \([^)]*\)$/, '');

/** The network with the token standard by which exchanges know it; a native coin has none. */
export const networkOf = (asset: Asset): string =>
  asset.contract === undefined ? plainNetwork(asset) : asset.networkName.replace(/ network\)$/, ')');

/** The most decimals of an asset. */
const COIN_DIGITS = 18;

const coinFormat = (locale: string): Intl.NumberFormat =>
  kept(`${locale} coins`, () => new Intl.NumberFormat(locale, { maximumFractionDigits: COIN_DIGITS }));

/** An amount of an asset with every decimal that it has, in the reader's language: "1.234,5". */
function digits(units: bigint, asset: Asset, locale: string): string {
  return coinFormat(locale).format(formatUnits(units, asset) as Intl.StringNumericLiteral);
}

/** "0.0123 LTC" */
export const crypto = (units: bigint, asset: Asset, locale: string): string =>
  `${digits(units, asset, locale)} ${tickerOf(asset)}`;

/**
 * The digits of an amount that is to be copied into a wallet: a comma is drawn over the point, so that a copy has the
 * point, which every wallet takes. Elsewhere "1,234" could be read as a thousand.
 */
export function copiedHtml(units: bigint, asset: Asset, locale: string): Html {
  const [whole, part] = formatUnits(units, asset).split('.') as [string, string?];
  if (part === undefined) return html`${whole}`;
  const isComma = coinFormat(locale).format(0.5).includes(',');
  return isComma ? html`${whole}<span class="comma">.</span>${part}` : html`${whole}.${part}`;
}

/** Of one line, if there is room for it. */
const unbroken = (text: string): string => text.replaceAll(' ', '\u00a0');

/** The same as markup that is always read from left to right, and does not end a line before its unit. */
export const cryptoHtml = (units: bigint, asset: Asset, locale: string): Html => sumHtml([{ asset, units }], locale);

/** Amounts of several coins: "0.5 LTC + 0.001 BTC". */
const amounts = (parts: readonly Received[], locale: string): string[] =>
  parts.map(({ asset, units }) => crypto(units, asset, locale));

export const sumHtml = (parts: readonly Received[], locale: string): Html =>
  html`<bdi dir="ltr">${amounts(parts, locale).map(unbroken).join(' + ')}</bdi>`;

/** "1 LTC = $80.00", as `sumHtml`. */
export const rateHtml = (rate: bigint, asset: Asset, currency: string, locale: string): Html =>
  html`<bdi dir="ltr">${unbroken(`1 ${tickerOf(asset)}`)} ${unbroken(`= ${fiat(rate, currency, locale)}`)}</bdi>`;

/** The sum of each coin that came for a payment. */
function receivedIn({ asset, received, transactions }: Funds): Received[] {
  const others = Map.groupBy(transactions, (one) => one.asset.symbol);
  if ([...others.keys()].every((symbol) => symbol === asset.symbol)) return [{ asset, units: received }];
  return [...others.values()].map((one) => ({
    asset: one[0]!.asset,
    units: one.reduce((total, { units }) => total + units, 0n),
  }));
}

export const received = (funds: Funds, locale: string): string => amounts(receivedIn(funds), locale).join(' + ');
export const receivedHtml = (funds: Funds, locale: string): Html => sumHtml(receivedIn(funds), locale);

/** A fiat amount (1e-8) in its currency's usual form. Further digits are cut off; a small rate has 6 digits. */
export function fiat(scaled: bigint, currency: string, locale: string): string {
  const small = scaled > 0n && scaled < COARSE_FROM;
  const format = kept(`${locale} ${currency} ${small}`, () => {
    const fine = small ? { maximumFractionDigits: FINE_DIGITS } : {};
    return new Intl.NumberFormat(locale, { style: 'currency', currency, roundingMode: 'trunc', ...fine });
  });
  // NumberFormat reads a decimal string exactly
  return format.format(formatDecimal(scaled, FIAT_DECIMALS) as Intl.StringNumericLiteral);
}

const CENT = COARSE_FROM / 100n;
const CENT_DIGITS = 2;

/** A price to the cent, even if its currency usually has none, so that no smaller price is shown than asked. */
export function price(scaled: bigint, currency: string, locale: string): string {
  if (scaled % COARSE_FROM < CENT) return fiat(scaled, currency, locale);
  const format = kept(
    `${locale} ${currency} exact`,
    () => new Intl.NumberFormat(locale, { style: 'currency', currency, minimumFractionDigits: CENT_DIGITS }),
  );
  return format.format(formatDecimal(scaled, FIAT_DECIMALS) as Intl.StringNumericLiteral);
}

/** "21 Nov 2026, 14:05 UTC" */
export function instant(at: number, locale: string): string {
  const text = kept(
    locale,
    () => new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' }),
  );
  return `${text.format(at)} UTC`;
}

/** A time as an element: UTC here; the page's script changes it to the payer's time zone. */
export const timeHtml = (at: number, locale: string): Html =>
  html`<time datetime="${isoOf(at)}" data-local>${instant(at, locale)}</time>`;

/** "8 minutes", "2 hours": whole units, rounded up, at least a minute. */
export function duration(seconds: number, locale: string, unitDisplay: 'long' | 'short' = 'long'): string {
  const minutes = Math.max(1, Math.ceil(seconds / SECONDS_PER_MINUTE));
  const long = minutes > 2 * MINUTES_PER_HOUR;
  const unit = long ? 'hour' : 'minute';
  const format = kept(
    `${locale} ${unit} ${unitDisplay}`,
    () => new Intl.NumberFormat(locale, { style: 'unit', unit, unitDisplay }),
  );
  return format.format(long ? Math.ceil(minutes / MINUTES_PER_HOUR) : minutes);
}

/** "8 min", "2 hr": the same in few letters. */
export const shortDuration = (seconds: number, locale: string): string => duration(seconds, locale, 'short');

/** The same for the receipt, which names the time zone. */
export const keptTimeHtml = (at: number, locale: string): Html =>
  html`<time datetime="${isoOf(at)}" data-local="zone">${instant(at, locale)}</time>`;

/** The machine-readable form, for `datetime`. */
const isoOf = (at: number): string => new Date(at).toISOString();
