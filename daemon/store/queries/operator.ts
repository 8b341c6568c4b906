/** Statements of the operator's lists. Each reads a bounded number of rows. */
import { sql } from 'kysely';
import type { InvoiceStatus } from '../../domain/payment.ts';
import { columnsBut, find, last, NO, newest, sqlite, statement, word } from '../statement.ts';
import type { InvoiceRow } from './invoices.ts';
import { invoiceOfTarget } from './ready.ts';

/** A state of an invoice that was decided: each business has those in an index. */
type DecidedStatus = Exclude<InvoiceStatus, 'unpaid'>;

export const newestInvoiceId = last('invoice', [], {}, ['id']);

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

export const newestCreditsOf = newest('credit', ['target_id']);

export const newestAttemptsOf = newest('webhook_attempt', ['webhook_id']);

export const openAlertCount = statement((_: Record<never, never>) =>
  sqlite
    .selectFrom('alert')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('seen_at', 'is', null),
);

/** Whether the time to pay ended without money; one that a person canceled before has not expired. */
const hasExpired = sql<boolean>`CASE status
  WHEN 'canceled' THEN NOT EXISTS (SELECT 1 FROM payment WHERE invoice_id = invoice.id AND received <> '0')
    AND updated_at >= coalesce((SELECT deadline_at FROM payment WHERE invoice_id = invoice.id), due_at)
  WHEN 'unpaid' THEN EXISTS (SELECT 1 FROM payment WHERE invoice_id = invoice.id AND status = 'overdue' AND received = '0')
  ELSE 0 END`;

/** Of the invoices with these ids, the expired ones, newest first. */
export const expiredBetween = statement((p: { from: number; below: number; business_id: number; limit: number }) =>
  sqlite
    .selectFrom('invoice')
    .selectAll()
    .where('id', '>=', p.from)
    .where('id', '<', p.below)
    // not by the index of its business, whose rows are not in the order of their ids
    .where(sql<boolean>`+business_id = ${p.business_id}`)
    .where('deleted_at', 'is', null)
    .where(hasExpired)
    .orderBy('id', 'desc')
    .limit(p.limit),
);

type OfStatus = { business_id: number; status: DecidedStatus; below: number; limit: number };

const decided = (p: Pick<OfStatus, 'business_id' | 'status'>) =>
  sqlite
    .selectFrom('invoice')
    .where('business_id', '=', p.business_id)
    .where('status', '=', p.status)
    // these two are the index's condition
    .where('status', '<>', word('unpaid'))
    .where('deleted_at', 'is', null);

/** Invoices of a business in a state that is not `unpaid`, newest first. */
export const invoicesOfStatus = statement((p: OfStatus) =>
  decided(p).selectAll().where('id', '<', p.below).orderBy('id', 'desc').limit(p.limit),
);

/** The lowest of a business's newest `limit` invoices of such a state below an id, and how many there are. The index alone answers. */
export const sliceOfStatus = statement((p: OfStatus) =>
  sqlite
    .selectFrom(decided(p).select('id').where('id', '<', p.below).orderBy('id', 'desc').limit(p.limit).as('some'))
    .select(({ fn }) => [fn.countAll<number>().as('n'), fn.min<number | null>('id').as('from')]),
);

/** How many invoices of a business and such a state have ids in a range, and how many of these have expired. */
export const countBetween = statement(
  (p: { business_id: number; status: DecidedStatus; from: number; below: number }) =>
    decided(p)
      .select(({ fn }) => [fn.countAll<number>().as('n'), sql<number>`coalesce(sum(${hasExpired}), 0)`.as('expired')])
      .where('id', '>=', p.from)
      .where('id', '<', p.below),
);

/**
 * Those that are unpaid. They are in the order of their ids, of all businesses together, and their index names the business: SQLite is to
 * read it, not the rows.
 */
const UNPAID = sql`invoice INDEXED BY invoice_unpaid`;
const isUnpaid = sql`status = 'unpaid' AND deleted_at IS NULL`;

/** The unpaid invoices below an id of all businesses but the sandbox's, newest first. */
export const unpaidBelow = statement(
  (p: { below: number; limit: number }) => sql<InvoiceRow>`SELECT * FROM ${UNPAID} WHERE ${isUnpaid} AND id < ${p.below}
      AND business_id NOT IN (SELECT id FROM business WHERE network = 'sandbox')
      ORDER BY id DESC LIMIT ${p.limit}`,
);

/** The lowest of the newest `limit` unpaid invoices below an id, how many there are, and how many of these are of a business. */
export const sliceOfUnpaid = statement(
  (p: { business_id: number; below: number; limit: number }) => sql<{ n: number; from: number | null; own: number }>`
      SELECT count(*) AS n, min(id) AS "from", coalesce(sum(business_id = ${p.business_id}), 0) AS own
      FROM (SELECT id, business_id FROM ${UNPAID} WHERE ${isUnpaid} AND id < ${p.below} ORDER BY id DESC LIMIT ${p.limit})
        AS some`,
);

type UnpaidSlice = { business_id: number; from: number; below: number };

/** The unpaid invoices of a business with ids in a range, newest first. */
export const unpaidBetween = statement(
  (
    p: UnpaidSlice & { limit: number },
  ) => sql<InvoiceRow>`SELECT * FROM ${UNPAID} WHERE ${isUnpaid} AND business_id = ${p.business_id}
      AND id >= ${p.from} AND id < ${p.below} ORDER BY id DESC LIMIT ${p.limit}`,
);

/** How many these are, and how many of them have expired. */
export const countUnpaid = statement(
  (p: UnpaidSlice) => sql<{
    n: number;
    expired: number;
  }>`SELECT count(*) AS n, coalesce(sum(${hasExpired}), 0) AS expired FROM ${UNPAID}
      WHERE ${isUnpaid} AND business_id = ${p.business_id} AND id >= ${p.from} AND id < ${p.below}`,
);

/** Those of them that got less than they ask for. */
export const shortBetween = statement(
  (p: UnpaidSlice) => sql<{
    id: number;
  }>`SELECT invoice.id FROM ${UNPAID} CROSS JOIN payment ON payment.invoice_id = invoice.id
      WHERE invoice.status = 'unpaid' AND invoice.deleted_at IS NULL AND invoice.business_id = ${p.business_id}
        AND invoice.id >= ${p.from} AND invoice.id < ${p.below} AND payment.received <> '0'
        AND (length(payment.received), payment.received) < (length(payment.quote_amount), payment.quote_amount)`,
);

/** Invoices whose money waits for a decision in the inbox, up to a limit. */
export const undecidedInvoices = statement((p: { business_id: number; limit: number }) =>
  sqlite
    .selectFrom('inbox')
    .innerJoin('invoice', 'invoice.id', 'inbox.invoice_id')
    .select('invoice.id')
    .where('inbox.state', '=', sql.lit('open'))
    .where('inbox.silent', '=', NO)
    .where('inbox.business_id', '=', p.business_id)
    .where('invoice.deleted_at', 'is', null)
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

/**
 * The invoices of an amount in any currency, even deleted ones, with ids from one up to below another, newest first. The index has
 * the amounts in the order of the ids, so it is read between the two; SQLite by itself would read the rows.
 */
export const invoicesOfAmount = statement(
  (p: { from: number; below: number; amount: bigint; limit: number }) => sql<{
    id: number;
  }>`SELECT id FROM invoice INDEXED BY invoice_by_amount
      WHERE id >= ${p.from} AND id < ${p.below} AND amount = ${p.amount} ORDER BY id DESC LIMIT ${p.limit}`,
);

/** An address of ours that was given out. */
export const givenTarget = statement((p: { script: Uint8Array; chain_key: string }) =>
  sqlite
    .selectFrom('target')
    .select(columnsBut('target', 'invoice_id'))
    .select(invoiceOfTarget.as('invoice_id'))
    .where('script', '=', p.script)
    .where('chain_key', '=', p.chain_key)
    .where(invoiceOfTarget, 'is not', null),
);

export const newestCredit = last('credit', [], {}, ['id']);

export const inboxOfCredit = find('inbox', 'credit_id');
