/** Statements about client IDs and the invoices that they made. */
import { sql } from 'kysely';
import { sqlite, statement } from '../statement.ts';

export const liveClients = statement((_: Record<never, never>) =>
  sqlite.selectFrom('client').selectAll().where('revoked_at', 'is', null).orderBy('id'),
);

export const insertClientInvoice = statement((p: { invoice_id: number; client_id: number }) =>
  sqlite.insertInto('client_invoice').values({ invoice_id: p.invoice_id, client_id: p.client_id, holds: 0 }),
);

export const clientInvoice = statement((p: { invoice_id: number }) =>
  sqlite.selectFrom('client_invoice').select('client_id').where('invoice_id', '=', p.invoice_id),
);

export const setHolds = statement((p: { invoice_id: number; holds: number }) =>
  sqlite.updateTable('client_invoice').set({ holds: p.holds }).where('invoice_id', '=', p.invoice_id),
);

/** Whether more than `above` unpaid invoices of a client ID hold an address: a row, or none. */
export const heldAbove = statement((p: { client_id: number; above: number }) =>
  sqlite
    .selectFrom('client_invoice')
    .select('invoice_id')
    .where('client_id', '=', p.client_id)
    .where('holds', '=', sql.lit(1))
    .limit(1)
    .offset(p.above),
);
