/** Statements about invoices, their payments and their quotes. */
import type { AssetId } from '../../domain/assets.ts';
import type { Row } from '../schema.ts';
import { columnsBut, find, insert, last, matching, remove, sqlite, statement, update } from '../statement.ts';

export type InvoiceRow = Row<'invoice'>;

export type PaymentRow = Row<'payment'>;

export type FormerTargetRow = Row<'former_target'>;

export const insertInvoice = insert('invoice', columnsBut('invoice', 'deleted_at', 'random_slug'));

export const invoiceById = find('invoice', 'id');

/** The one that was made last. */
export const newestInvoice = last('invoice', [], {}, ['created_at']);

/** Of those that releases before made. */
export const invoiceByRandomSlug = matching('invoice', ['slug'], { random_slug: true });

export const invoiceByUuid = find('invoice', 'uuid');

export const setInvoiceStatus = update('invoice', ['status', 'updated_at', { check_at: null }], 'id');

export const setInvoiceCheck = update('invoice', ['check_at'], 'id');

export const setInvoiceDue = update('invoice', ['due_at', 'check_at', 'updated_at'], 'id');

export const setInvoiceDeleted = statement((p: { id: number; deleted_at: number }) =>
  sqlite
    .updateTable('invoice')
    .set({ deleted_at: p.deleted_at, check_at: null, updated_at: p.deleted_at })
    .where('id', '=', p.id),
);

/** Invoices whose deadline has passed by the clock. An invoice without a payment depends on no chain. */
export const invoicesToCheck = statement((p: { now: number; limit: number }) =>
  sqlite
    .selectFrom('invoice')
    .selectAll()
    .where('check_at', 'is not', null)
    .where('check_at', '<=', p.now)
    .orderBy('check_at')
    .limit(p.limit),
);

export const insertPayment = insert('payment', columnsBut('payment'));

export const paymentOf = find('payment', 'invoice_id');

export const updatePayment = update(
  'payment',
  ['status', 'check_at', 'received', 'confirmed', 'seen_value', 'confirmed_value', 'flags', 'updated_at'],
  'invoice_id',
);

const QUOTE = [
  'quote_rate',
  'quote_amount',
  'quote_issued_at',
  'quote_ends_at',
  'rates',
  'deadline_at',
  'check_at',
  'updated_at',
] as const;

export const updateQuote = update('payment', [...QUOTE, 'received', 'confirmed'], 'invoice_id');

/** Changes the asset of a payment: its address and its quote. */
export const setPaymentTarget = update(
  'payment',
  [...QUOTE, 'chain_key', 'asset', 'target_id', 'address', 'changes'],
  'invoice_id',
);

/** The former payment addresses of an invoice, in other assets. */
export const formerTargets = find('former_target', 'invoice_id');

export const insertFormerTarget = insert('former_target', columnsBut('former_target'));

/** Sets whether the former addresses of an invoice are watched closely. */
export const setFormerTargetsOpen = update('former_target', ['open'], 'invoice_id');

export const deleteFormerTarget = remove('former_target', 'invoice_id', 'asset');

/** Payments of a chain whose deadline has passed by the time of its last complete sync. */
export const paymentsToCheck = statement((p: { chain_key: string; synced_at: number; limit: number }) =>
  sqlite
    .selectFrom('payment')
    .select('invoice_id')
    .where('chain_key', '=', p.chain_key)
    .where('check_at', 'is not', null)
    .where('check_at', '<=', p.synced_at)
    .orderBy('check_at')
    .limit(p.limit),
);

export const insertPastQuote = insert('past_quote', columnsBut('past_quote'), 'ignore');

/** The rate of the earlier quote in an asset that was valid at a time. */
export const pastQuoteAt = statement((p: { invoice_id: number; asset: AssetId; at: number }) =>
  sqlite
    .selectFrom('past_quote')
    .select(['rate', 'issued_at'])
    .where('invoice_id', '=', p.invoice_id)
    .where('asset', '=', p.asset)
    .where('issued_at', '<=', p.at)
    .where('ends_at', '>=', p.at)
    .orderBy('issued_at', 'desc')
    .limit(1),
);
