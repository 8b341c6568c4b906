/** Methods about the counter's items and closings. */
import { closeDay, closingPage, nextClosing, type Report } from '../../app/operator/closing.ts';
import { findBusiness } from '../../app/operator/find.ts';
import { addItems, changeItem, itemsFor, type NewItem, removeItem } from '../../app/operator/items.ts';
import type { COUNTER } from '../../contract/counter.ts';
import type { Parsed, Result } from '../../contract/operator.ts';
import { assetOf } from '../../domain/assets.ts';
import { toIso } from '../../domain/calendar.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import type { Context } from './context.ts';

type Methods = {
  readonly [M in keyof typeof COUNTER]: (context: Context, params: Parsed<M>) => Result<M> | Promise<Result<M>>;
};
/** As it is stored: amounts are texts. */
type Texts<T> = T extends bigint
  ? string
  : T extends readonly (infer E)[]
    ? Texts<E>[]
    : T extends object
      ? { [K in keyof T]: Texts<T[K]> }
      : T;

const fiat = (scaled: bigint | string): string => formatDecimal(BigInt(scaled), FIAT_DECIMALS);
const newItem = ({
  name,
  category,
  price,
  vat,
  sold_out: soldOut,
}: Omit<NewItem, 'soldOut'> & { sold_out: boolean }) => ({
  name: name.trim(),
  category: category.trim(),
  price,
  vat,
  soldOut,
});

function closingJson(number: number, report: Texts<Report> | Report): Result<'closing.next'>['closing'] {
  const { from, to, parts, books, waiting } = report;
  return {
    number,
    from: from === null ? null : toIso(from),
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
  };
}

export const COUNTER_METHODS: Methods = {
  'item.list': ({ app }, { business }) => ({
    items: itemsFor(app.store, findBusiness(app, business)).map(({ id, name, category, price, vat, sold_out }) => ({
      id,
      name,
      category,
      price: fiat(price),
      vat,
      sold_out,
    })),
  }),
  'item.add': async ({ app }, { business, items }) => {
    await app.store.write((tx) => addItems(tx, findBusiness(app, business), items.map(newItem)));
    return {};
  },
  'item.change': async ({ app }, { business, id, ...item }) => {
    await app.store.write((tx) => changeItem(tx, findBusiness(app, business), id, newItem(item)));
    return {};
  },
  'item.remove': async ({ app }, { business, id }) => {
    await app.store.write((tx) => removeItem(app, tx, findBusiness(app, business), id));
    return {};
  },
  'closing.next': ({ app }, { business }) => {
    const { number, report } = nextClosing(app, findBusiness(app, business));
    return { closing: closingJson(number, report) };
  },
  'closing.make': async ({ app }, { business, number }) => {
    const report = await app.store.write((tx) => closeDay(app, tx, findBusiness(app, business), number));
    if (report === null) throw new Rejected('closing.number', 'The day was closed elsewhere meanwhile', 'number');
    return { closing: closingJson(number, report) };
  },
  'closing.list': ({ app }, { business, before = Number.MAX_SAFE_INTEGER, limit }) => ({
    closings: closingPage(app.store, findBusiness(app, business), before, limit).map(({ number, report }) =>
      closingJson(number, report as Texts<Report>),
    ),
  }),
};
