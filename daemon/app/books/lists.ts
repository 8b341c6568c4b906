/**
 * A business's lists for external bookkeeping: invoices, withdrawals and receipts, newest first, in pages.
 *
 * Invariant: one call reads at most ROWS_SCANNED_MAX rows. A page may be short and still have a next one; only null
 * means the end.
 */
import { apiStatus } from '../../domain/withdrawal.ts';
import { receiptsBelow } from '../../store/queries/books.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { paymentOf } from '../../store/queries/invoices.ts';
import { type WithdrawalRow, withdrawalsOfBusinessBelow } from '../../store/queries/withdrawals.ts';
import type { App } from '../app.ts';
import { invoicesBehind, invoicesOfOrderBehind } from '../invoices/listed.ts';
import { type InvoiceView, view } from '../invoices/views.ts';
import type { Business } from '../shops/directory.ts';
import { refundedInvoice } from '../withdrawals/refund.ts';

const ROWS_SCANNED_MAX = 5_000;
const ROWS_PER_SLICE = 500;
const NEWEST = Number.MAX_SAFE_INTEGER;

/** A position in a list. `at`: milliseconds since 1970, if the list is by time. */
export type ListCursor = { at: number; id: number };

/** Times are milliseconds since 1970, `from` included and `to` excluded. Null: no filter. */
export type BookFilter = {
  status: string | null;
  orderId: string | null;
  crypto: string | null;
  from: number | null;
  to: number | null;
  limit: number;
  after: ListCursor | null;
};

export type BookPage<Row> = { rows: Row[]; next: ListCursor | null };

export type Receipt = CreditRow & {
  address: string;
  slug: string | null;
  order_id: string | null;
  currency: string | null;
};

/** The state of a receipt. `dropped`: it was seen, but is no longer on the chain or in the mempool. */
export const RECEIPT_STATUSES = ['pending', 'confirmed', 'dropped'] as const;
type ReceiptStatus = (typeof RECEIPT_STATUSES)[number];

export const receiptStatus = (row: Pick<CreditRow, 'gone' | 'confirmed'>): ReceiptStatus =>
  row.gone ? 'dropped' : row.confirmed ? 'confirmed' : 'pending';

type Listing<Row> = {
  limit: number;
  begin: ListCursor;
  /** Up to `limit` rows after a position. */
  read(behind: ListCursor, limit: number): Row[];
  cursorOf(row: Row): ListCursor;
  wanted(row: Row): boolean;
};

/** Reads slices until the page is full, the list ends, or ROWS_SCANNED_MAX is reached. */
async function page<Row>({ limit, begin, read, cursorOf: placeOf, wanted }: Listing<Row>): Promise<BookPage<Row>> {
  const rows: Row[] = [];
  let behind = begin;
  for (let scanned = 0; scanned < ROWS_SCANNED_MAX; scanned += ROWS_PER_SLICE) {
    const slice = read(behind, ROWS_PER_SLICE);
    for (const row of slice) {
      behind = placeOf(row);
      if (wanted(row)) rows.push(row);
      if (rows.length === limit) return { rows, next: behind };
    }
    if (slice.length < ROWS_PER_SLICE) return { rows, next: null };
    // lets other requests run between two slices
    await new Promise(setImmediate);
  }
  return { rows, next: behind };
}

const within = (at: number, { from, to }: BookFilter): boolean =>
  (from === null || at >= from) && (to === null || at < to);

/** The later place of the two in the list: behind the cursor, and before the time `to`. */
function beginOf({ after, to }: BookFilter): ListCursor {
  const end = { at: to ?? NEWEST, id: 0 };
  return after && after.at < end.at ? after : end;
}

/** The invoices of a business, without deleted ones. */
export async function bookInvoices(app: App, business: Business, filter: BookFilter): Promise<BookPage<InvoiceView>> {
  const { status, crypto, orderId } = filter;
  const { rows, next } = await page({
    limit: filter.limit,
    begin: beginOf(filter),
    read: ({ at, id }, limit) => {
      const behind = { business_id: business.id, from: filter.from ?? 0, at, id, limit };
      return orderId === null
        ? invoicesBehind(app.store, behind)
        : invoicesOfOrderBehind(app.store, { ...behind, order_id: orderId });
    },
    cursorOf: (row) => ({ at: row.created_at, id: row.id }),
    wanted: (row) =>
      row.deleted_at === null &&
      (status === null || row.status === status) &&
      (crypto === null || row.crypto === crypto),
  });
  return { rows: rows.map((row) => view(app, business, row, app.store.get(paymentOf, { invoice_id: row.id }))), next };
}

/** The withdrawals of a business, by their API states. An order has those that refund its invoices. */
export function bookWithdrawals(app: App, business: Business, filter: BookFilter): Promise<BookPage<WithdrawalRow>> {
  const { status, crypto, orderId } = filter;
  return page({
    limit: filter.limit,
    begin: filter.after ?? { at: 0, id: NEWEST },
    read: ({ id }, limit) => app.store.all(withdrawalsOfBusinessBelow, { business_id: business.id, id, limit }),
    cursorOf: (row) => ({ at: 0, id: row.id }),
    wanted: (row) =>
      within(row.created_at, filter) &&
      (status === null || apiStatus(row.state) === status) &&
      (crypto === null || row.asset === crypto) &&
      (orderId === null || refundedInvoice(app.store, row)?.order_id === orderId),
  });
}

/** Money received from outside: for an invoice, late, surplus, or without an invoice. */
export function bookReceipts(app: App, business: Business, filter: BookFilter): Promise<BookPage<Receipt>> {
  const { status, crypto, orderId } = filter;
  return page<Receipt>({
    limit: filter.limit,
    begin: filter.after ?? { at: 0, id: NEWEST },
    read: ({ id }, limit) => app.store.all(receiptsBelow, { business_id: business.id, id, limit }),
    cursorOf: (row) => ({ at: 0, id: row.id }),
    wanted: (row) =>
      within(row.first_seen_at, filter) &&
      (status === null || receiptStatus(row) === status) &&
      (crypto === null || row.asset === crypto) &&
      (orderId === null || row.order_id === orderId),
  });
}
