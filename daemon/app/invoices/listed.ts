/**
 * The lists of a business's invoices by time and by the shop's reference. A new invoice is remembered in memory (`store/lately.ts`), and
 * many are added to the lists at once, in the order of these: so those of one business, which stand beside each other, cost a page together.
 */
import { LISTED_SETTING } from '../../store/lately.ts';
import { type InvoiceRow, invoiceById } from '../../store/queries/invoices.ts';
import {
  type Behind,
  deleteInvoiceLately,
  insertListed,
  insertOrdered,
  invoicesLatelyAbove,
  invoicesLatelyAfter,
  listedBehind,
  orderedBehind,
} from '../../store/queries/listed.ts';
import { newestInvoiceId } from '../../store/queries/operator.ts';
import { saveSetting } from '../../store/queries/settings.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';

/** So many are added at once: eighty for each of a hundred businesses, which stand in one or two pages. */
const LISTED_FROM = 8_000;
/** Invoices per write: about a millisecond. */
const LISTED_AT_ONCE = 200;

/** The invoices of a business behind a position and not before the time `from`, newest first, even deleted ones. */
export const invoicesBehind = (reader: Reader, position: Behind): InvoiceRow[] =>
  reader.all(listedBehind, position).flatMap(({ id }) => reader.get(invoiceById, { id }) ?? []);

/** Those of them with a reference of the shop. */
export const invoicesOfOrderBehind = (reader: Reader, position: Behind & { order_id: string }): InvoiceRow[] =>
  reader.all(orderedBehind, position).flatMap(({ id }) => reader.get(invoiceById, { id }) ?? []);

/** Whether so many are to be added to the lists that it is worth it. */
export const isListingDue = (app: App): boolean =>
  app.store.get(invoicesLatelyAbove, { above: LISTED_FROM }) !== undefined;

type Last = { business_id: number; created_at: number; id: number };

/** Adds all that were made before the call, a millisecond at a time, until told to stop. A restart continues. */
export async function listInvoicesMade(app: App, stopped: () => boolean): Promise<void> {
  if (!app.store.get(invoicesLatelyAbove, { above: 0 })) return;
  const newest = app.store.get(newestInvoiceId, {})?.id ?? 0;
  const beginning: Last = { business_id: 0, created_at: 0, id: 0 };
  for (let after: Last | null = beginning; after !== null && !stopped(); ) {
    const from: Last = after;
    after = await app.store.write((tx) => listSome(app, tx, from, newest));
  }
}

/** Returns the last one that was added; null: that were all up to the number `newest`. */
function listSome(app: App, tx: Tx, after: Last, newest: number): Last | null {
  const rows = tx.all(invoicesLatelyAfter, { ...after, limit: LISTED_AT_ONCE });
  for (const { business_id, created_at, id, order_id } of rows) {
    tx.run(insertListed, { business_id, created_at, id });
    if (order_id !== null) tx.run(insertOrdered, { business_id, order_id, created_at, id });
    tx.run(deleteInvoiceLately, { business_id, created_at, id });
  }
  if (rows.length === LISTED_AT_ONCE) return rows.at(-1) ?? null;
  tx.run(saveSetting, { key: LISTED_SETTING, value: `${newest}`, updated_at: app.now() });
  return null;
}
