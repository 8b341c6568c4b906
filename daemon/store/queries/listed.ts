/**
 * Statements about the invoices of one business, by time and by the shop's reference: in the tables for them, or in memory if they were made
 * lately (`../lately.ts`). Their rows are in the table `invoice`.
 */
import { type RawBuilder, sql } from 'kysely';
import { insert, sqlite, statement } from '../statement.ts';

/** A position in a list by time. It is followed by older ones, and by those of the same time with a lower id. */
type Behind = { business_id: number; from: number; at: number; id: number; limit: number };

type Place = { created_at: number; id: number };

const written = <R>(query: RawBuilder<R>) => ({ compile: () => query.compile(sqlite) });

/** The places of a business's invoices behind a position and not before a time, newest first. */
export const listedBehind = statement((p: Behind) => {
  const places = (table: string) => sql`SELECT created_at, id FROM ${sql.table(table)}
    WHERE business_id = ${p.business_id} AND created_at >= ${p.from} AND (created_at, id) < (${p.at}, ${p.id})`;
  return written(sql<Place>`${places('invoice_listed')} UNION ALL ${places('invoice_lately')}
    ORDER BY created_at DESC, id DESC LIMIT ${p.limit}`);
});

/** The same of those with a reference of the shop. */
export const orderedBehind = statement((p: Behind & { order_id: string }) => {
  const places = (table: string) => sql`SELECT created_at, id FROM ${sql.table(table)}
    WHERE business_id = ${p.business_id} AND order_id IS NOT NULL AND order_id = ${p.order_id} AND created_at >= ${p.from}
      AND (created_at, id) < (${p.at}, ${p.id})`;
  return written(sql<Place>`${places('invoice_ordered')} UNION ALL ${places('invoice_lately')}
    ORDER BY created_at DESC, id DESC LIMIT ${p.limit}`);
});

/** The oldest invoice of a business that was made from a time on. */
export const oldestListedSince = statement((p: { business_id: number; created_from: number }) => {
  const places = (table: string) => sql`SELECT created_at, id FROM ${sql.table(table)}
    WHERE business_id = ${p.business_id} AND created_at >= ${p.created_from}`;
  return written(sql<Place>`${places('invoice_listed')} UNION ALL ${places('invoice_lately')}
    ORDER BY created_at, id LIMIT ${sql.lit(1)}`);
});

/** The amounts of the paid invoices that were made between two times, up to a limit. */
export const paidBetween = statement((p: { business_id: number; from: number; to: number; limit: number }) => {
  const places = (table: string) => sql`SELECT id FROM ${sql.table(table)}
    WHERE business_id = ${p.business_id} AND created_at >= ${p.from} AND created_at <= ${p.to}`;
  return written(sql<{ amount: bigint; currency: string }>`SELECT invoice.amount, invoice.currency
    FROM (${places('invoice_listed')} UNION ALL ${places('invoice_lately')}) AS some
    CROSS JOIN invoice ON invoice.id = some.id WHERE +invoice.status = 'paid' AND deleted_at IS NULL LIMIT ${p.limit}`);
});

type Listed = { business_id: number; created_at: number; id: number; order_id: string | null };

/** Remembers a new invoice, which is in no list yet. */
export const insertInvoiceLately = statement((p: Listed) =>
  written(sql`INSERT INTO invoice_lately (business_id, created_at, id, order_id)
    VALUES (${p.business_id}, ${p.created_at}, ${p.id}, ${p.order_id})`),
);

/** Those that are to be added to the lists, behind one of them, in the order of the lists. */
export const invoicesLatelyAfter = statement(
  (p: { business_id: number; created_at: number; id: number; limit: number }) =>
    written(sql<Listed>`SELECT business_id, created_at, id, order_id FROM invoice_lately
      WHERE (business_id, created_at, id) > (${p.business_id}, ${p.created_at}, ${p.id})
      ORDER BY business_id, created_at, id LIMIT ${p.limit}`),
);

/** Returns a row if more than `above` are to be added. */
export const invoicesLatelyAbove = statement((p: { above: number }) =>
  written(sql<{ id: number }>`SELECT id FROM invoice_lately WHERE business_id > 0 LIMIT 1 OFFSET ${p.above}`),
);

export const deleteInvoiceLately = statement((p: { business_id: number; created_at: number; id: number }) =>
  written(sql`DELETE FROM invoice_lately
    WHERE business_id = ${p.business_id} AND created_at = ${p.created_at} AND id = ${p.id}`),
);

export const insertListed = insert('invoice_listed', ['business_id', 'created_at', 'id']);

export const insertOrdered = insert('invoice_ordered', ['business_id', 'order_id', 'created_at', 'id']);
