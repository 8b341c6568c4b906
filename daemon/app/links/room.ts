/**
 * Makes room for a buyer where all of an item is held by sales that nobody pays. Such stock counts as there, and the sales stay until a
 * buyer takes it.
 */
import { isCrumb } from '../../domain/payment.ts';
import { MS_PER_MINUTE } from '../../domain/time.ts';
import { paymentOf } from '../../store/queries/invoices.ts';
import { heldLines, itemsOf, type LinkItemRow } from '../../store/queries/links.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { creditsFor } from '../invoices/payment-targets.ts';
import { settleInvoice } from '../invoices/settle.ts';

type HeldLine = NonNullable<(typeof heldLines)['row']>;

/**
 * The lines of sales whose first price has run out and that got nothing, or crumbs. An open page renews the price, so a later one holds
 * no stock: anybody could keep a page open.
 */
function abandonedLines(app: App, reader: Reader, link_id: number): HeldLine[] {
  const now = app.now();
  const { quoteMinutes } = app.config.payments;
  const lines = reader.all(heldLines, { link_id, until: now - quoteMinutes * MS_PER_MINUTE });
  // one that is still the first may be from before the setting was changed
  const isOver = ({ quote_issued_at, created_at, quote_ends_at }: HeldLine): boolean =>
    quote_ends_at <= now || (quoteMinutes > 0 && quote_issued_at > created_at);
  return lines.filter((line) => isOver(line) && isUnfunded(reader, line));
}

/** Money without a value is no crumb: there may be no rate. */
function isUnfunded(reader: Reader, { invoice_id, received, seen_value, amount }: HeldLine): boolean {
  if (received === 0n) return true;
  const payment = isCrumb(seen_value, amount) ? reader.get(paymentOf, { invoice_id }) : undefined;
  return payment !== undefined && creditsFor(reader, payment).every(({ value }) => value !== null);
}

/** The items of a link, without what such sales hold. */
export function itemsWithRoom(app: App, reader: Reader, linkId: number): LinkItemRow[] {
  const freed = new Map<number, number>();
  for (const { item_id, quantity } of abandonedLines(app, reader, linkId)) {
    freed.set(item_id, (freed.get(item_id) ?? 0) + quantity);
  }
  return reader.all(itemsOf, { link_id: linkId }).map((item) => {
    return { ...item, taken: item.taken - (freed.get(item.id) ?? 0) };
  });
}

/** Cancels such sales, the oldest first, until so many of an item are there, or none of them is left. */
export function makeRoom(app: App, tx: Tx, { link_id, stock, taken, id }: LinkItemRow, quantity: number): void {
  let missing = taken + quantity - (stock ?? Number.POSITIVE_INFINITY);
  for (const line of abandonedLines(app, tx, link_id)) {
    if (missing <= 0) return;
    if (line.item_id !== id) continue;
    settleInvoice(app, tx, line.invoice_id, { decision: 'cancel' });
    missing -= line.quantity;
  }
}
