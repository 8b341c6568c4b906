/**
 * A review and a set of grants as text. Every number and address comes from the signed data. Other values, such as
 * exchange rates, are marked as the service's statement.
 */
import { assetOf } from '../domain/assets.ts';
import { FIAT_DECIMALS, fiatFor, formatDecimal, formatUnits, parseDecimal } from '../domain/money.ts';
import { inGroups, isFeeHigh } from '../domain/policy.ts';
import type { Payment, Review } from './review.ts';

/** US dollars per coin, as the service states it; null: it has no rate. */
export type Said = { usdRate: string | null; fee: string; warnings: readonly string[] };

/** Removes control characters, which could repaint a terminal, from the service's texts. */
const printable = (text: string): string => text.replace(/[^\P{C}]/gu, '?');

/** Everything that the approval allows, and the transaction as it is now. */
export function reviewText(review: Review, { usdRate, fee, warnings }: Said): string {
  const { chain, network, accountNo, purpose, payments, back, before, coins, feeMax, until } = review;
  const [asset, feeAsset] = [assetOf(review.asset), assetOf(review.feeAsset)];
  const isApart = feeAsset !== asset;
  const rate = usdRate === null ? null : parseDecimal(usdRate, FIAT_DECIMALS);
  const money = (units: bigint): string => {
    const dollars = rate === null ? '' : ` (${cents(fiatFor(units, asset, rate))} USD)`;
    return `${formatUnits(units, asset)} ${asset.symbol}${dollars}`;
  };
  const most = isApart ? `${formatUnits(feeMax, feeAsset)} ${feeAsset.symbol}` : money(feeMax);
  const lines = [`${chain}, ${network}, account ${accountNo}${purpose === 'cancel' ? ', a cancellation' : ''}`];
  for (const payment of payments) lines.push(...paymentLines(payment, purpose === 'cancel', money));
  for (const units of before) lines.push(`${money(units)} to somebody as approved before`);
  if (back !== null) lines.push(`${money(back)} back to this wallet`);
  if (coins !== null) lines.push(...['Of these coins alone:', ...coins.map((coin) => `  ${coin}`)]);
  lines.push(`Fee: at most ${most}; now ${printable(fee)} ${feeAsset.symbol} by the service's word`);
  lines.push(`Holds until ${new Date(until).toISOString()}`);
  if (rate !== null) lines.push(`Dollars at 1 ${asset.symbol} = ${cents(rate)} USD, by the service's word`);
  const paid = payments.reduce((sum, { units }) => sum + units, 0n);
  const moved = payments.length === 0 ? (back ?? 0n) : paid;
  if (!isApart && isFeeHigh(feeMax, moved)) lines.push('WARNING: The fee may be more than 5 % of what is moved.');
  return `${[...lines, ...warnings.map((text) => `WARNING: ${printable(text)}.`)].join('\n')}\n`;
}

function paymentLines(payment: Payment, canceled: boolean, money: (units: bigint) => string): string[] {
  const { address, units, upTo, now } = payment;
  const amount = upTo ? `up to ${money(units)}` : money(units);
  const what = canceled ? `not paid any more: ${amount}` : `${amount}${upTo ? `, now ${money(now)},` : ''} to`;
  return [what, `  ${address}`, `  ${inGroups(address)}`];
}

/** With two decimals, rounded up, so that no amount looks smaller than it is. */
export function cents(scaled: bigint): string {
  const unit = 10n ** BigInt(FIAT_DECIMALS - 2);
  return formatDecimal(((scaled + unit - 1n) / unit) * unit, FIAT_DECIMALS);
}
