/** Statements about invoices, their payments and their quotes. */
import type { Selectable } from 'kysely';
import type { Schema } from '../schema.ts';
import { sqlite, statement } from '../statement.ts';

export type InvoiceRow = Selectable<Schema['invoice']>;

export type PaymentRow = Selectable<Schema['payment']>;

type Named<Row, Name extends keyof Row> = { [name in Name]: Row[name] };

export const insertInvoice = statement((p: Omit<InvoiceRow, 'id' | 'deleted_at'>) =>
  sqlite.insertInto('invoice').values({
    uuid: p.uuid,
    slug: p.slug,
    business_id: p.business_id,
    origin: p.origin,
    amount: p.amount,
    tolerance: p.tolerance,
    currency: p.currency,
    crypto: p.crypto,
    status: p.status,
    due_at: p.due_at,
    check_at: p.check_at,
    close_url: p.close_url,
    redirect_url: p.redirect_url,
    webhook_url: p.webhook_url,
    automatic_redirect: p.automatic_redirect,
    created_at: p.created_at,
    updated_at: p.updated_at,
    deleted_at: null,
    order_id: p.order_id,
    description: p.description,
    metadata: p.metadata,
  }),
);

export const invoiceById = statement((p: Named<InvoiceRow, 'id'>) =>
  sqlite.selectFrom('invoice').selectAll().where('id', '=', p.id),
);

export const invoiceBySlug = statement((p: Named<InvoiceRow, 'slug'>) =>
  sqlite.selectFrom('invoice').selectAll().where('slug', '=', p.slug),
);

export const invoiceByUuid = statement((p: Named<InvoiceRow, 'uuid'>) =>
  sqlite.selectFrom('invoice').selectAll().where('uuid', '=', p.uuid),
);

/** The newest invoices below an id, whatever their state: the caller filters and pages. */
export const invoicesBelow = statement((p: { id: number; limit: number }) =>
  sqlite.selectFrom('invoice').selectAll().where('id', '<', p.id).orderBy('id', 'desc').limit(p.limit),
);

export const setInvoiceStatus = statement((p: Named<InvoiceRow, 'id' | 'status' | 'updated_at'>) =>
  sqlite
    .updateTable('invoice')
    .set({ status: p.status, check_at: null, updated_at: p.updated_at })
    .where('id', '=', p.id),
);

export const setInvoiceCheck = statement((p: Named<InvoiceRow, 'id' | 'check_at'>) =>
  sqlite.updateTable('invoice').set({ check_at: p.check_at }).where('id', '=', p.id),
);

export const setInvoiceDue = statement((p: Named<InvoiceRow, 'id' | 'due_at' | 'check_at' | 'updated_at'>) =>
  sqlite
    .updateTable('invoice')
    .set({ due_at: p.due_at, check_at: p.check_at, updated_at: p.updated_at })
    .where('id', '=', p.id),
);

export const setInvoiceDeleted = statement((p: { id: number; deleted_at: number }) =>
  sqlite
    .updateTable('invoice')
    .set({ deleted_at: p.deleted_at, check_at: null, updated_at: p.deleted_at })
    .where('id', '=', p.id),
);

/** Invoices whose deadline has passed by the clock: those without a payment depend on no chain. */
export const invoicesToCheck = statement((p: { now: number; limit: number }) =>
  sqlite
    .selectFrom('invoice')
    .selectAll()
    .where('check_at', 'is not', null)
    .where('check_at', '<=', p.now)
    .orderBy('check_at')
    .limit(p.limit),
);

export const insertPayment = statement((p: PaymentRow) =>
  sqlite.insertInto('payment').values({
    invoice_id: p.invoice_id,
    chain_key: p.chain_key,
    asset: p.asset,
    target_id: p.target_id,
    address: p.address,
    status: p.status,
    deadline_at: p.deadline_at,
    check_at: p.check_at,
    quote_rate: p.quote_rate,
    quote_amount: p.quote_amount,
    quote_issued_at: p.quote_issued_at,
    quote_ends_at: p.quote_ends_at,
    rates: p.rates,
    received: p.received,
    confirmed: p.confirmed,
    seen_value: p.seen_value,
    confirmed_value: p.confirmed_value,
    flags: p.flags,
    created_at: p.created_at,
    updated_at: p.updated_at,
  }),
);

export const paymentOf = statement((p: { invoice_id: number }) =>
  sqlite.selectFrom('payment').selectAll().where('invoice_id', '=', p.invoice_id),
);

export const updatePayment = statement(
  (
    p: Named<
      PaymentRow,
      | 'invoice_id'
      | 'status'
      | 'check_at'
      | 'received'
      | 'confirmed'
      | 'seen_value'
      | 'confirmed_value'
      | 'flags'
      | 'updated_at'
    >,
  ) =>
    sqlite
      .updateTable('payment')
      .set({
        status: p.status,
        check_at: p.check_at,
        received: p.received,
        confirmed: p.confirmed,
        seen_value: p.seen_value,
        confirmed_value: p.confirmed_value,
        flags: p.flags,
        updated_at: p.updated_at,
      })
      .where('invoice_id', '=', p.invoice_id),
);

export const updateQuote = statement(
  (
    p: Named<
      PaymentRow,
      | 'invoice_id'
      | 'quote_rate'
      | 'quote_amount'
      | 'quote_issued_at'
      | 'quote_ends_at'
      | 'rates'
      | 'deadline_at'
      | 'check_at'
      | 'updated_at'
    >,
  ) =>
    sqlite
      .updateTable('payment')
      .set({
        quote_rate: p.quote_rate,
        quote_amount: p.quote_amount,
        quote_issued_at: p.quote_issued_at,
        quote_ends_at: p.quote_ends_at,
        rates: p.rates,
        deadline_at: p.deadline_at,
        check_at: p.check_at,
        updated_at: p.updated_at,
      })
      .where('invoice_id', '=', p.invoice_id),
);

/** Payments on a chain whose deadline has passed by the time that its sync has reached. */
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

export const insertPastQuote = statement(
  (p: { invoice_id: number; issued_at: number; ends_at: number; rate: string }) =>
    sqlite
      .insertInto('past_quote')
      .values({ invoice_id: p.invoice_id, issued_at: p.issued_at, ends_at: p.ends_at, rate: p.rate })
      .onConflict((conflict) => conflict.doNothing()),
);

/** The rate of the earlier quote that was open at an instant. */
export const pastQuoteAt = statement((p: { invoice_id: number; at: number }) =>
  sqlite
    .selectFrom('past_quote')
    .select('rate')
    .where('invoice_id', '=', p.invoice_id)
    .where('issued_at', '<=', p.at)
    .where('ends_at', '>=', p.at)
    .orderBy('issued_at', 'desc')
    .limit(1),
);
