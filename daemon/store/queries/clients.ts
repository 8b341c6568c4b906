/** Statements about client IDs and the invoices that they made. */
import { beyond, inOrder, insert, matching, sqlite, statement, update, YES } from '../statement.ts';

export const liveClients = inOrder('client', [], { revoked_at: null });

export const insertClientInvoice = insert('client_invoice', ['invoice_id', 'client_id', 'holds']);

export const clientInvoice = matching('client_invoice', ['invoice_id'], {}, ['client_id']);

/** The holders are kept only while the invoice counts. */
export const setHolds = update('client_invoice', ['holds', 'holder', 'holder_site', 'holder_provider'], 'invoice_id');

const heldByAbove = (by: 'holder' | 'holder_site' | 'holder_provider') =>
  statement((p: { client_id: number; holder: string; above: number }) =>
    sqlite
      .selectFrom('client_invoice')
      .select('invoice_id')
      .where('client_id', '=', p.client_id)
      .where(by, '=', p.holder)
      .where('holds', '=', YES)
      .limit(1)
      .offset(p.above),
  );

/** Each returns a row if one network holds more than `above` invoices of a client ID: an address (IPv6: a /64), a /56, a /48. */
export const heldByNetworkAbove = heldByAbove('holder');
export const heldBySiteAbove = heldByAbove('holder_site');
export const heldByProviderAbove = heldByAbove('holder_provider');

/** How many invoices of a client ID hold an address. */
export const heldOf = statement((p: { client_id: number }) =>
  sqlite
    .selectFrom('client_invoice')
    .select((eb) => eb.fn.countAll<number>().as('held'))
    .where('client_id', '=', p.client_id)
    .where('holds', '=', YES),
);

type Turn = { client_id: number; now: number; unseen: number; limit: number };

const abandoned = (p: Turn) =>
  sqlite
    .selectFrom('client_invoice')
    .innerJoin('payment', 'payment.invoice_id', 'client_invoice.invoice_id')
    .select(['client_invoice.invoice_id', 'payment.quote_ends_at'])
    .where('client_invoice.client_id', '=', p.client_id)
    .where('client_invoice.holds', '=', YES)
    .where('payment.received', '=', 0n)
    .where((eb) => eb.or([eb('payment.quote_ends_at', '<=', p.now), eb('payment.created_at', '<=', p.unseen)]))
    .orderBy('client_invoice.invoice_id')
    .limit(p.limit);

/** The oldest invoices of a client ID with an address, no funds, and an ended quote or a request before `unseen`. */
export const abandonedOf = statement((p: Turn) => abandoned(p));

/** The same for the invoices that one network address holds. */
export const abandonedBy = statement((p: Turn & { holder: string }) =>
  abandoned(p).where('client_invoice.holder', '=', p.holder),
);

/** Returns a row if more than `above` unpaid invoices of a client ID hold an address. */
export const heldAbove = beyond('client_invoice', ['client_id'], { holds: true }, ['invoice_id']);
