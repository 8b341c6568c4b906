/**
 * Statements about the invoices of one business, by time and by the shop's reference: in the tables for them, or in memory if they were made
 * lately (`../lately.ts`). Their rows are in the table `invoice`.
 */
import { type RawBuilder, sql } from 'kysely';
import { insert, statement } from '../statement.ts';

/** A position in a list by time. It is followed by older ones, and by those of the same time with a lower id. */
export type Behind = { business_id: number; from: number; at: number; id: number; limit: number };

type Place = { created_at: number; id: number };

/** The places that a condition names, in one of the tables and in memory. */
const places = (table: 'invoice_listed' | 'invoice_ordered', where: RawBuilder<unknown>) =>
  sql`SELECT created_at, id FROM ${sql.table(table)} WHERE ${where} UNION ALL SELECT created_at, id FROM invoice_lately WHERE ${where}`;

const isBehind = (p: Behind) =>
  sql`business_id = ${p.business_id} AND created_at >= ${p.from} AND (created_at, id) < (${p.at}, ${p.id})`;

/** The places of a business's invoices behind a position and not before a time, newest first. */
export const listedBehind = statement(
  (p: Behind) =>
    sql<Place>`${places('invoice_listed', isBehind(p))} ORDER BY created_at DESC, id DESC LIMIT ${p.limit}`,
);

/** The same of those with a reference of the shop. */
export const orderedBehind = statement((p: Behind & { order_id: string }) => {
  const where = sql`${isBehind(p)} AND order_id IS NOT NULL AND order_id = ${p.order_id}`;
  return sql<Place>`${places('invoice_ordered', where)} ORDER BY created_at DESC, id DESC LIMIT ${p.limit}`;
});

/** The oldest invoice of a business that was made from a time on. */
export const oldestListedSince = statement((p: { business_id: number; created_from: number }) => {
  const where = sql`business_id = ${p.business_id} AND created_at >= ${p.created_from}`;
  return sql<Place>`${places('invoice_listed', where)} ORDER BY created_at, id LIMIT ${sql.lit(1)}`;
});

/** The amounts of the paid invoices that were made between two times, up to a limit. */
export const paidBetween = statement((p: { business_id: number; from: number; to: number; limit: number }) => {
  const where = sql`business_id = ${p.business_id} AND created_at >= ${p.from} AND created_at <= ${p.to}`;
  return sql<{ amount: bigint; currency: string }>`SELECT invoice.amount, invoice.currency
    FROM (${places('invoice_listed', where)}) AS some
    CROSS JOIN invoice ON invoice.id = some.id WHERE +invoice.status = 'paid' AND deleted_at IS NULL LIMIT ${p.limit}`;
});

type Listed = { business_id: number; created_at: number; id: number; order_id: string | null };

/** Remembers a new invoice, which is in no list yet. */
export const insertInvoiceLately = statement(
  (p: Listed) =>
    sql`INSERT INTO invoice_lately (business_id, created_at, id, order_id)
    VALUES (${p.business_id}, ${p.created_at}, ${p.id}, ${p.order_id})`,
);

/** Those that are to be added to the lists, behind one of them, in the order of the lists. */
export const invoicesLatelyAfter = statement(
  (p: { business_id: number; created_at: number; id: number; limit: number }) =>
    sql<Listed>`SELECT business_id, created_at, id, order_id FROM invoice_lately
      WHERE (business_id, created_at, id) > (${p.business_id}, ${p.created_at}, ${p.id})
      ORDER BY business_id, created_at, id LIMIT ${p.limit}`,
);

/** Returns a row if more than `above` are to be added. */
export const invoicesLatelyAbove = statement(
  (p: { above: number }) =>
    sql<{ id: number }>`SELECT id FROM invoice_lately WHERE business_id > 0 LIMIT 1 OFFSET ${p.above}`,
);

export const deleteInvoiceLately = statement(
  (p: { business_id: number; created_at: number; id: number }) =>
    sql`DELETE FROM invoice_lately
    WHERE business_id = ${p.business_id} AND created_at = ${p.created_at} AND id = ${p.id}`,
);

export const insertListed = insert('invoice_listed', ['business_id', 'created_at', 'id']);

export const insertOrdered = insert('invoice_ordered', ['business_id', 'order_id', 'created_at', 'id']);
