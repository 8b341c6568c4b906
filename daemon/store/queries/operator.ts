/** Statements of the operator's lists. Each reads a bounded number of rows. */
import { sql } from 'kysely';
import type { InvoiceStatus } from '../../domain/payment.ts';
import { find, sqlite, statement } from '../statement.ts';

/** The number of the newest invoice. */
export const newestInvoice = statement((_: Record<never, never>) =>
  sqlite.selectFrom('invoice').select('id').orderBy('id', 'desc').limit(1),
);

/**
 * Invoices with ids from one up to below another, newest first. Filters by business, status and order if these are not
 * null. Invoices are never removed, so the two ids bound the number of rows.
 */
export const invoicesBetween = statement(
  (p: {
    from: number;
    below: number;
    business_id: number | null;
    status: string | null;
    order_id: string | null;
    /** Of its payment. */
    asset: string | null;
    created_from: number;
    created_to: number;
    limit: number;
  }) =>
    sqlite
      .selectFrom('invoice')
      .selectAll()
      .where('id', '>=', p.from)
      .where('id', '<', p.below)
      .where('deleted_at', 'is', null)
      .where(sql<boolean>`(${p.business_id} IS NULL OR business_id = ${p.business_id})`)
      .where(sql<boolean>`(${p.status} IS NULL OR status = ${p.status})`)
      .where(sql<boolean>`(${p.order_id} IS NULL OR order_id = ${p.order_id})`)
      .where(
        sql<boolean>`(${p.asset} IS NULL OR EXISTS (SELECT 1 FROM payment WHERE invoice_id = invoice.id AND asset = ${p.asset}))`,
      )
      .where('created_at', '>=', p.created_from)
      .where('created_at', '<=', p.created_to)
      .orderBy('id', 'desc')
      .limit(p.limit),
);

/** The newest deposits to an address. */
export const newestCreditsOf = statement((p: { target_id: number; limit: number }) =>
  sqlite.selectFrom('credit').selectAll().where('target_id', '=', p.target_id).orderBy('id', 'desc').limit(p.limit),
);

export const newestAttemptsOf = statement((p: { webhook_id: number; limit: number }) =>
  sqlite
    .selectFrom('webhook_attempt')
    .selectAll()
    .where('webhook_id', '=', p.webhook_id)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

export const openAlertCount = statement((_: Record<never, never>) =>
  sqlite
    .selectFrom('alert')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('seen_at', 'is', null),
);

/** The newest invoice of a business that was made up to a time. */
export const newestInvoiceUntil = statement((p: { business_id: number; created_to: number }) =>
  sqlite
    .selectFrom('invoice')
    .select('id')
    .where('business_id', '=', p.business_id)
    .where('created_at', '<=', p.created_to)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1),
);

/** The oldest invoice of a business that was made from a time on. */
export const oldestInvoiceSince = statement((p: { business_id: number; created_from: number }) =>
  sqlite
    .selectFrom('invoice')
    .select('id')
    .where('business_id', '=', p.business_id)
    .where('created_at', '>=', p.created_from)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1),
);

/** Invoices of a business in a state, newest first. */
export const invoicesOfStatus = statement(
  (p: { business_id: number; status: InvoiceStatus; below: number; limit: number }) =>
    sqlite
      .selectFrom('invoice')
      .selectAll()
      .where('business_id', '=', p.business_id)
      .where('status', '=', p.status)
      .where('id', '<', p.below)
      .where('deleted_at', 'is', null)
      .orderBy('id', 'desc')
      .limit(p.limit),
);

/** Payments of a business, newest first; of one chain, or of all (null). */
export const paymentsBetween = statement(
  (p: { from: number; below: number; business_id: number; chain_key: string | null; limit: number }) =>
    sqlite
      .selectFrom('payment')
      .selectAll()
      .where('invoice_id', '>=', p.from)
      .where('invoice_id', '<', p.below)
      // not a join, which would begin with the invoices and sort
      .where(sql<boolean>`(SELECT business_id FROM invoice WHERE id = invoice_id) = ${p.business_id}`)
      .where(sql<boolean>`(${p.chain_key} IS NULL OR chain_key = ${p.chain_key})`)
      .orderBy('invoice_id', 'desc')
      .limit(p.limit),
);

/** Invoices of an amount in any currency, newest first. */
export const invoicesOfAmount = statement((p: { amount: bigint; limit: number }) =>
  sqlite
    .selectFrom('invoice')
    .selectAll()
    .where('amount', '=', p.amount)
    .where('deleted_at', 'is', null)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

/** An address of ours that was given out. */
export const givenTarget = statement((p: { script: Uint8Array; chain_key: string }) =>
  sqlite
    .selectFrom('target')
    .selectAll()
    .where('script', '=', p.script)
    .where('chain_key', '=', p.chain_key)
    .where('invoice_id', 'is not', null),
);

export const newestCredit = statement((_: Record<never, never>) =>
  sqlite.selectFrom('credit').select('id').orderBy('id', 'desc').limit(1),
);

/** The credits that count as takings, with ids from one up to below another, newest first. */
export const creditsBetween = statement((p: { from: number; below: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['id', 'account_id', 'asset', 'usd_value', 'first_seen_at', 'claim', 'confirmed', 'gone'])
    .where('id', '>=', p.from)
    .where('id', '<', p.below)
    .orderBy('id', 'desc'),
);

/** The item of the inbox that a deposit is. */
export const inboxOfCredit = find('inbox', 'credit_id');
