/** A closing of the counter's day in the operator API's shape. */
import type { ClosingMail } from '../../app/notifications/closing-mail.ts';
import type { Report } from '../../app/operator/closing.ts';
import type { Result } from '../../contract/operator.ts';
import { assetOf } from '../../domain/assets.ts';
import { isoOrNull, toIso } from '../../domain/calendar.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';

/** As it is stored: amounts are texts. */
export type Texts<T> = T extends bigint
  ? string
  : T extends readonly (infer E)[]
    ? Texts<E>[]
    : T extends object
      ? { [K in keyof T]: Texts<T[K]> }
      : T;

export const fiat = (scaled: bigint | string): string => formatDecimal(BigInt(scaled), FIAT_DECIMALS);

/** `mail`: the e-mail about it; null: none was asked for. */
export function closingJson(
  number: number,
  report: Texts<Report> | Report,
  mail: ClosingMail | null,
): Result<'closing.next'>['closing'] {
  const { from, to, parts, books, waiting } = report;
  return {
    number,
    from: isoOrNull(from),
    to: toIso(to),
    parts: parts.map(({ currency, sales, tips, refunds, fees, taken, items, coins, difference, taxes, keptTips }) => ({
      currency,
      sales: { ...sales, sum: fiat(sales.sum) },
      tips: fiat(tips),
      refunds: { ...refunds, sum: fiat(refunds.sum) },
      fees: fees.map(({ asset, units }) => ({ crypto: asset, amount: formatUnits(BigInt(units), assetOf(asset)) })),
      taken: fiat(taken),
      items: items.map((item) => ({ ...item, price: fiat(item.price), sum: fiat(item.sum) })),
      coins: coins.map(({ asset, payments, sum }) => ({ crypto: asset, payments, sum: fiat(sum) })),
      difference: fiat(difference),
      taxes: taxes.map(({ rate, net, tax, gross }) => ({ rate, net: fiat(net), tax: fiat(tax), gross: fiat(gross) })),
      kept_tips: fiat(keptTips),
    })),
    books,
    waiting: waiting.map(({ slug, amount, currency }) => ({ invoice: slug, amount: fiat(amount), currency })),
    mail: mail && {
      to: [...mail.recipients],
      state: mail.state,
      problem: mail.problem,
      changed_at: toIso(mail.changed_at),
      next_at: mail.next_at === null || mail.state === 'sending' ? null : toIso(mail.next_at),
    },
  };
}
