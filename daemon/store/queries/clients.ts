/** Statements about client IDs and the invoices that they made. */
import { insert, sqlite, statement, update, YES } from '../statement.ts';

export const liveClients = statement((_: Record<never, never>) =>
  sqlite.selectFrom('client').selectAll().where('revoked_at', 'is', null).orderBy('id'),
);

export const insertClientInvoice = insert('client_invoice', ['invoice_id', 'client_id', 'holds']);

export const clientInvoice = statement((p: { invoice_id: number }) =>
  sqlite.selectFrom('client_invoice').select('client_id').where('invoice_id', '=', p.invoice_id),
);

/** `holder` is kept only while the invoice counts. */
export const setHolds = update('client_invoice', ['holds', 'holder'], 'invoice_id');

/** Returns a row if one network address holds more than `above` invoices of a client ID. */
export const heldByAbove = statement((p: { client_id: number; holder: string; above: number }) =>
  sqlite
    .selectFrom('client_invoice')
    .select('invoice_id')
    .where('client_id', '=', p.client_id)
    .where('holder', '=', p.holder)
    .where('holds', '=', YES)
    .limit(1)
    .offset(p.above),
);

const abandoned = (p: { client_id: number; now: number; limit: number }) =>
  sqlite
    .selectFrom('client_invoice')
    .innerJoin('payment', 'payment.invoice_id', 'client_invoice.invoice_id')
    .select('client_invoice.invoice_id')
    .where('client_invoice.client_id', '=', p.client_id)
    .where('client_invoice.holds', '=', YES)
    .where('payment.received', '=', 0n)
    .where('payment.quote_ends_at', '<=', p.now)
    .orderBy('client_invoice.invoice_id')
    .limit(p.limit);

/** The oldest of a client ID's invoices that hold an address, have no funds, and whose quote has ended. */
export const abandonedOf = statement((p: { client_id: number; now: number; limit: number }) => abandoned(p));

/** The same for the invoices that one network address holds. */
export const abandonedBy = statement((p: { client_id: number; holder: string; now: number; limit: number }) =>
  abandoned(p).where('client_invoice.holder', '=', p.holder),
);

/** Returns a row if more than `above` unpaid invoices of a client ID hold an address. */
export const heldAbove = statement((p: { client_id: number; above: number }) =>
  sqlite
    .selectFrom('client_invoice')
    .select('invoice_id')
    .where('client_id', '=', p.client_id)
    .where('holds', '=', YES)
    .limit(1)
    .offset(p.above),
);
