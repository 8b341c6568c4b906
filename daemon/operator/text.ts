/** A view of a request for approval as text for a terminal. */

import { textOf } from '../domain/messages.ts';
import type { CollectView, PaymentView, ReviewView, Sum } from './view.ts';

/** Removes control characters, which could repaint a terminal, from the service's texts. */
const printable = (text: string): string => text.replace(/[^\P{C}]/gu, '?');

const money = ({ text, asset, worth }: Sum): string => `${text} ${asset}${worth === null ? '' : ` (${worth} USD)`}`;

/** Everything that the approval allows, and the transaction as it is now. */
export function reviewText(view: ReviewView): string {
  const { decoded, kind, payments, before, back, coins, fee, feeMax, until, rate, warnings, notes } = view;
  const place = decoded
    ? `${decoded.chain}, ${decoded.network}, account ${decoded.accountNo}`
    : "All of this by the service's word";
  const lines = [`${place}${kind === 'cancellation' ? ', a cancellation' : ''}`];
  for (const payment of payments) lines.push(...paymentLines(payment, kind === 'cancellation'));
  for (const sum of before) lines.push(`${money(sum)} to somebody as approved before`);
  if (back !== null) lines.push(`${money(back)} back to this wallet`);
  if (coins !== null) lines.push('Of these coins alone:', ...coins.map((coin) => `  ${coin}`));
  lines.push(`Fee: at most ${money(feeMax)}; now ${fee.text} ${fee.asset} by the service's word`);
  if (view.collect)
    lines.push(
      ...collectLines(
        view.collect,
        payments.some(({ upTo }) => upTo),
      ),
    );
  lines.push(`Holds until ${new Date(until).toISOString()}`);
  if (rate !== null) lines.push(`Dollars at 1 ${view.takes.asset} = ${rate} USD, by the service's word`);
  if (view.isFeeHigh) lines.push('WARNING: The fee may be more than 5 % of what is moved.');
  for (const { text } of warnings) lines.push(`WARNING: ${printable(textOf(text))}.`);
  for (const note of notes) lines.push(`${printable(textOf(note))}, by the service's word.`);
  return `${lines.join('\n')}\n`;
}

function collectLines({ addresses, feeMax, total, until, missing }: CollectView, takesAll: boolean): string[] {
  const are = addresses === 1 ? '1 is' : `${addresses} are`;
  return [
    `${takesAll ? 'It is on several addresses' : 'No single address can pay it'}: ${are} collected first, by the service's word.`,
    `For that the wallet may move money between its own addresses, for at most ${money(feeMax)} in fees`,
    `until ${new Date(until).toISOString()}. It pays nobody else.`,
    `All fees together: at most ${money(total)}`,
    ...(missing === null ? [] : [`Before that it ${printable(missing.text)}.`]),
  ];
}

function paymentLines({ address, groups, allowed, now, upTo }: PaymentView, canceled: boolean): string[] {
  const amount = upTo ? `up to ${money(allowed)}` : money(allowed);
  const what = canceled ? `not paid any more: ${amount}` : `${amount}${upTo ? `, now ${money(now)},` : ''} to`;
  return [what, `  ${printable(address)}`, `  ${printable(groups.join(' '))}`];
}
