/** A sale of items and typed amounts, with its tip. */

import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, formatDecimal } from '../../domain/money.ts';
import {
  insertSale,
  insertSaleLine,
  itemById,
  linesOfInvoice,
  type SaleLineRow,
  saleByRequest,
  saleOfInvoice,
} from '../../store/queries/counter.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import type { Business } from '../shops/directory.ts';
import { makeByHand } from './counter.ts';
import { priceOf } from './items.ts';

/** `item`: null for a typed amount. `price`: as the till showed it. */
export type Line = { item: number | null; price: string; quantity: number; vat: number | null };
type CartSale = {
  /** The till's own id of the sale. */
  request: string;
  /** The sum that the till showed, tip included. */
  amount: string;
  currency: string;
  note: string | null;
  tip: string;
  lines: readonly Line[];
};
type NewLine = Omit<SaleLineRow, 'id' | 'invoice_id'>;

const fiat = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);

function lineOf(reader: Reader, business: Business, currency: string, line: Line): NewLine {
  const price = priceOf(line.price, currency, 'price');
  const { item: id, quantity } = line;
  if (id === null) return { item_id: null, name: '', price, quantity, vat: line.vat };
  const item = reader.get(itemById, { id });
  if (item?.business_id !== business.id || item.removed_at !== null) {
    throw new Rejected('item.not_found', 'An item of this sale is not sold any more', 'lines');
  }
  if (item.price !== price) {
    throw new Rejected('item.price', `The price of ${item.name} has changed to ${fiat(item.price)}`, 'lines');
  }
  return { item_id: id, name: item.name, price, quantity, vat: item.vat };
}

/**
 * Makes the invoice of a sale. The same request gets the same invoice, however often it is sent. Throws `Rejected`: `item.not_found`,
 * `item.price` where the till showed another price, `validation` where the sum is another one or the tip is more than it, and as `makeByHand`.
 */
export function sellCart(app: App, tx: Tx, business: Business, sale: CartSale): InvoiceRow {
  const { request, currency } = sale;
  const made = tx.get(saleByRequest, { business_id: business.id, request });
  if (made) return tx.get(invoiceById, { id: made.invoice_id })!;
  const lines = sale.lines.map((line) => lineOf(tx, business, currency, line));
  const tip = priceOf(sale.tip, currency, 'tip');
  const sum = lines.reduce((whole, { price, quantity }) => whole + price * BigInt(quantity), tip);
  const amount = priceOf(sale.amount, currency, 'amount');
  if (lines.length > 0 && sum !== amount) {
    throw new Rejected('validation', `The items and the tip make ${fiat(sum)}, not ${fiat(amount)}.`, 'amount');
  }
  if (tip > amount) throw new Rejected('validation', 'The tip is a part of the amount.', 'tip');
  const typed: NewLine = { item_id: null, name: '', price: amount - tip, quantity: 1, vat: null };
  const { amount: asked, note } = sale;
  const invoice = makeByHand(app, tx, business, {
    amount: asked,
    currency,
    crypto: 'ALL',
    orderId: null,
    description: note,
    origin: 'counter',
  });
  tx.run(insertSale, { invoice_id: invoice.id, business_id: business.id, request, tip, closing_id: null });
  for (const line of lines.length > 0 ? lines : [typed]) tx.run(insertSaleLine, { invoice_id: invoice.id, ...line });
  return invoice;
}

/** The tip and the lines of an invoice of the counter; no lines for one of an earlier release. */
export function cartOf(reader: Reader, { id }: InvoiceRow): { tip: bigint; lines: SaleLineRow[] } {
  const tip = reader.get(saleOfInvoice, { invoice_id: id })?.tip ?? 0n;
  return { tip, lines: reader.all(linesOfInvoice, { invoice_id: id }) };
}
