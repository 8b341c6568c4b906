/**
 * Closing the counter's day: what was sold since the last closing, paid with which coins, with the tax in it, less refunds.
 *
 * Invariant: only paid sales and completed refunds are in a closing, each in one. So every figure is of confirmed money: a sale whose
 * payment a reorganisation undid waits. In each currency the items and the tips add up to the sales, the coins add up to the same, and the
 * rates of tax and the tips to what was taken. Together with the difference that is the worth of the money that is kept.
 */
import type { AssetId } from '../../domain/assets.ts';
import { FLAG } from '../../domain/payment.ts';
import { stepOf, taxIn } from '../../domain/vat.ts';
import {
  closingsOf,
  insertClosedRefund,
  insertClosing,
  linesOfInvoice,
  type OpenSaleRow,
  openRefunds,
  openSales,
  type SaleLineRow,
  setSaleClosed,
} from '../../store/queries/counter.ts';
import { invoiceById, paymentOf } from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { type Taxed, type TaxSums, taxedRefund, worthIn } from '../books/taxed.ts';
import { creditsFor, unitsIn } from '../invoices/payment-targets.ts';
import type { Business } from '../shops/directory.ts';

/** More paid sales wait for the next closing. */
const SALES_MAX = 5_000;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** Amounts are 1e-8 of the currency. */
export type Part = {
  currency: string;
  sales: { count: number; sum: bigint };
  tips: bigint;
  /** The part of the price that went back. `unvalued`: refunds whose value is not known; they are in no sum. */
  refunds: { count: number; sum: bigint; unvalued: number };
  /** Network fees of the refunds, which the business paid. */
  fees: { asset: AssetId; units: bigint }[];
  /** Sales and tips less refunds. */
  taken: bigint;
  /** By name and price; typed amounts have no name. */
  items: { name: string; price: bigint; quantity: number; sum: bigint }[];
  /** By the coin that the sale was asked for; null: marked as paid by hand without a coin. */
  coins: { asset: AssetId | null; payments: number; sum: bigint }[];
  /** The worth of what arrived above what was asked for, less what of that went back; below 0: it is less. */
  difference: bigint;
  /** After the refunds. Null: no rate was given. */
  taxes: { rate: number | null; net: bigint; tax: bigint; gross: bigint }[];
  /** Tips after the refunds; no tax is in them. */
  keptTips: bigint;
};
export type Report = {
  from: number | null;
  to: number;
  parts: Part[];
  /** Payments whose deposits in the books add up to what the sale got, and the invoices of the others. */
  books: { agree: number; differ: string[] };
  /** Sales whose payment is not confirmed yet, or was undone: they are in the closing after it is confirmed. */
  waiting: { slug: string; amount: bigint; currency: string }[];
};
type Refund = NonNullable<(typeof openRefunds)['row']>;

/** The sums of one currency while sales are added. */
class Sums {
  readonly currency: string;
  readonly sales = { count: 0, sum: 0n };
  readonly refunds = { count: 0, sum: 0n, unvalued: 0 };
  tips = 0n;
  difference = 0n;
  readonly #items = new Map<string, Part['items'][number]>();
  readonly #coins = new Map<AssetId | null, Part['coins'][number]>();
  readonly #fees = new Map<AssetId, bigint>();
  readonly #gross = new Map<number | null, bigint>();
  /** The part of the refunds that returned tips. */
  #tipsBack = 0n;

  constructor(currency: string) {
    this.currency = currency;
  }

  add(sale: OpenSaleRow, lines: readonly SaleLineRow[]): void {
    this.sales.count++;
    this.sales.sum += sale.amount - sale.tip;
    this.tips += sale.tip;
    const coin = this.#coins.get(sale.asset) ?? { asset: sale.asset, payments: 0, sum: 0n };
    this.#coins.set(sale.asset, { ...coin, payments: coin.payments + 1, sum: coin.sum + sale.amount });
    if (sale.confirmed_value !== null && sale.confirmed_value > 0n)
      this.difference += sale.confirmed_value - sale.amount;
    for (const { name, price, quantity, vat } of lines) {
      const key = name === '' ? '' : `${price} ${name}`;
      const item = this.#items.get(key) ?? { name, price, quantity: 0, sum: 0n };
      const sum = price * BigInt(quantity);
      this.#items.set(key, { ...item, quantity: item.quantity + quantity, sum: item.sum + sum });
      this.#addGross(vat, sum);
    }
  }

  /** `worth`: null if it is not known. `taxed`: the part of the price that went back, below 0; the rest of the worth was paid beyond it. */
  takeOff({ fee, fee_asset }: Refund, worth: bigint | null, taxed: readonly Taxed[]): void {
    this.refunds.count++;
    if (fee !== null) this.#fees.set(fee_asset, (this.#fees.get(fee_asset) ?? 0n) + fee);
    if (worth === null) {
      this.refunds.unvalued++;
      return;
    }
    const price = taxed.reduce((sum, { gross }) => sum - gross, 0n);
    this.refunds.sum += price;
    this.difference -= worth - price;
    for (const { rate, gross } of taxed) {
      if (rate === 'tip') this.#tipsBack -= gross;
      else this.#addGross(rate, gross);
    }
  }

  #addGross(rate: number | null, gross: bigint): void {
    this.#gross.set(rate, (this.#gross.get(rate) ?? 0n) + gross);
  }

  part(): Part {
    const { currency, sales, tips, refunds, difference } = this;
    const step = stepOf(currency);
    const taxes = [...this.#gross]
      .sort(([a], [b]) => (b ?? -1) - (a ?? -1))
      .map(([rate, gross]) => {
        const tax = taxIn(gross, rate ?? 0, step);
        return { rate, net: gross - tax, tax, gross };
      });
    return {
      currency,
      sales,
      refunds,
      difference,
      tips,
      fees: [...this.#fees].map(([asset, units]) => ({ asset, units })),
      taken: sales.sum + tips - refunds.sum,
      items: [...this.#items.values()].sort((a, b) => (a.sum < b.sum ? 1 : -1)),
      coins: [...this.#coins.values()],
      taxes,
      keptTips: tips - this.#tipsBack,
    };
  }
}

type Findings = { report: Report; sales: OpenSaleRow[]; refunds: Refund[] };

const isUndone = ({ flags }: OpenSaleRow): boolean => flags !== null && (flags & FLAG.undone) !== 0;

/** Whether the deposits of a sale in the books are what the sale counts. */
function isInBooks(reader: Reader, sale: OpenSaleRow): boolean {
  const payment = reader.get(paymentOf, { invoice_id: sale.invoice_id });
  if (!payment) return true;
  const booked = creditsFor(reader, payment).filter((row) => row.claim === 'invoice' && row.confirmed && !row.gone);
  return booked.reduce((sum, row) => sum + unitsIn(payment, payment.quote_rate, row), 0n) === payment.confirmed;
}

function reportOf(app: App, reader: Reader, business: Business): Findings {
  const limits = { business_id: business.id, limit: SALES_MAX };
  const paid = reader.all(openSales, { ...limits, status: 'paid' });
  const unpaid = reader.all(openSales, { ...limits, status: 'unpaid' });
  const sales = paid.filter((sale) => !isUndone(sale));
  const refunds = reader.all(openRefunds, limits);
  const parts = new Map<string, Sums>();
  const sumsOf = (currency: string): Sums => {
    const sums = parts.get(currency) ?? new Sums(currency);
    parts.set(currency, sums);
    return sums;
  };
  const linesOf = (id: number): SaleLineRow[] => reader.all(linesOfInvoice, { invoice_id: id });
  const differ: string[] = [];
  for (const sale of sales) {
    sumsOf(sale.currency).add(sale, linesOf(sale.invoice_id));
    if (!isInBooks(reader, sale)) differ.push(sale.slug);
  }
  const known: TaxSums = new Map();
  for (const refund of refunds) {
    const invoice = reader.get(invoiceById, { id: refund.invoice_id })!;
    const worth = worthIn(reader, invoice, known)(refund.asset, refund.units);
    sumsOf(invoice.currency).takeOff(refund, worth, taxedRefund(reader, invoice, refund, known));
  }
  const report: Report = {
    from: sales[0]?.created_at ?? null,
    to: app.now(),
    parts: [...parts.values()].map((sums) => sums.part()),
    books: { agree: sales.length - differ.length, differ },
    waiting: [...paid.filter(isUndone), ...unpaid.filter(({ seen_value }) => (seen_value ?? 0n) > 0n)].map(
      ({ slug, amount, currency }) => ({ slug, amount, currency }),
    ),
  };
  return { report, sales, refunds };
}

/** The next closing as it would be now, and its number. */
export function nextClosing(app: App, business: Business): { number: number; report: Report } {
  return { number: lastNumber(app.store, business) + 1, report: reportOf(app, app.store, business).report };
}

function lastNumber(reader: Reader, business: Business): number {
  return reader.get(closingsOf, { business_id: business.id, below: NEWEST, limit: 1 })?.number ?? 0;
}

/** Closes the day. `number`: the closing that somebody looked at; another one was made meanwhile: null, and nothing is closed. */
export function closeDay(app: App, tx: Tx, business: Business, number: number): { id: number; report: Report } | null {
  if (lastNumber(tx, business) + 1 !== number) return null;
  const { report, sales, refunds } = reportOf(app, tx, business);
  tx.run(insertClosing, { business_id: business.id, number, report, closed_at: report.to });
  const { id } = tx.get(closingsOf, { business_id: business.id, below: NEWEST, limit: 1 })!;
  for (const { invoice_id } of sales) tx.run(setSaleClosed, { invoice_id, closing_id: id });
  for (const refund of refunds) tx.run(insertClosedRefund, { withdrawal_id: refund.id, closing_id: id });
  return { id, report };
}

/** Closings below a number, the newest first, as they were stored: amounts are texts. */
export const closingPage = (reader: Reader, business: Business, below: number, limit: number) =>
  reader.all(closingsOf, { business_id: business.id, below, limit });
