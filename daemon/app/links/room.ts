/**
 * Makes room for a buyer where all of an item is held by sales that nobody pays. Such stock counts as there, and the sales stay until a
 * buyer takes it.
 */
import { isCrumb } from '../../domain/payment.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import { paymentOf } from '../../store/queries/invoices.ts';
import { heldSales, itemsOf, type LinkItemRow, lineOf, quantityIn } from '../../store/queries/links.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { creditsFor } from '../invoices/payment-targets.ts';
import { settleInvoice } from '../invoices/settle.ts';

type HeldSale = NonNullable<(typeof heldSales)['row']>;

/**
 * The sales whose first price has run out and that got nothing, or crumbs. An open page renews the price, so a later
 * one holds no stock: anybody could keep a page open.
 */
function abandonedSales(app: App, reader: Reader, link_id: number): number[] {
  const now = app.now();
  const { quoteMinutes } = app.config.payments;
  const sales = reader.all(heldSales, { link_id, until: now - quoteMinutes * MS_PER_MINUTE });
  // one that is still the first may be from before the setting was changed
  const isOver = ({ quote_issued_at, created_at, quote_ends_at }: HeldSale): boolean =>
    quote_ends_at <= now || (quoteMinutes > 0 && quote_issued_at > created_at);
  return sales.filter((sale) => isOver(sale) && isUnfunded(reader, sale)).map(({ invoice_id }) => invoice_id);
}

/** Money without a value is no crumb: there may be no rate. */
function isUnfunded(reader: Reader, { invoice_id, received, seen_value, amount }: HeldSale): boolean {
  if (received === 0n) return true;
  const payment = isCrumb(seen_value, amount) ? reader.get(paymentOf, { invoice_id }) : undefined;
  return payment !== undefined && creditsFor(reader, payment).every(({ value }) => value !== null);
}

/** The items of a link, without what such sales hold. */
export function itemsWithRoom(app: App, reader: Reader, linkId: number): LinkItemRow[] {
  const items = reader.all(itemsOf, { link_id: linkId });
  // sales of an amount hold nothing
  if (items.length === 0) return [];
  const invoice_ids = JSON.stringify(abandonedSales(app, reader, linkId));
  return items.map((item) => {
    const { quantity } = reader.get(quantityIn, { item_id: item.id, invoice_ids })!;
    return { ...item, taken: item.taken - quantity };
  });
}

/** Cancels such sales, the oldest first, until so many of an item are there, or none of them is left. */
export function makeRoom(app: App, tx: Tx, { link_id, stock, taken, id }: LinkItemRow, quantity: number): void {
  let missing = taken + quantity - (stock ?? Number.POSITIVE_INFINITY);
  for (const invoice_id of missing > 0 ? abandonedSales(app, tx, link_id) : []) {
    if (missing <= 0) return;
    const line = tx.get(lineOf, { invoice_id, item_id: id });
    if (!line) continue;
    settleInvoice(app, tx, invoice_id, { decision: 'cancel' });
    missing -= line.quantity;
  }
}
