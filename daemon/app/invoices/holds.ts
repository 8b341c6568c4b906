/**
 * How many addresses the invoices of a client ID may hold. Anybody can make such invoices, so each caller has a share, and
 * what nobody paid makes room for others before it is canceled for its age.
 */
import { createHash } from 'node:crypto';
import { TooMany } from '../../domain/errors.ts';
import {
  abandonedBy,
  abandonedOf,
  clientInvoice,
  heldAbove,
  heldByAbove,
  setHolds,
} from '../../store/queries/clients.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import type { Tx } from '../../store/store.ts';
import { raise } from '../alerts.ts';
import type { App } from '../app.ts';
import { settleInvoice } from './settle.ts';

/** One address (IPv6: its /64) may hold that part of a client ID's cap. */
const SHARES = 10;
const RELEASED_AT_ONCE_MAX = 10;
const CAP_RETRY_SECONDS = 60;
const HOLDER_CHARACTERS = 32;

/** The database keeps no payer's address: a hash tells whether two are the same. */
const holderOf = (asker: string): string =>
  createHash('sha256').update(asker).digest('hex').slice(0, HOLDER_CHARACTERS);

/**
 * Counts an invoice that is being given an address. `asker`: the address that asks for it, in one spelling, or null where
 * there is none. Throws `TooMany` when the asker, or the client ID, has too many of them open.
 */
export function holdAddress(app: App, tx: Tx, invoice: InvoiceRow, asker: string | null): void {
  const made = invoice.origin === 'client' ? tx.get(clientInvoice, { invoice_id: invoice.id }) : undefined;
  if (!made) return;
  const { client_id } = made;
  const { openInvoicesMax } = app.config.browser;
  const holder = asker === null ? null : holderOf(asker);
  const turn = { client_id, now: app.now(), limit: RELEASED_AT_ONCE_MAX };

  const above = openInvoicesMax - 1;
  const isFull = () => tx.get(heldAbove, { client_id, above }) !== undefined;
  if (isFull()) release(app, tx, tx.all(abandonedOf, turn));
  if (isFull()) {
    alertFull(app, invoice, client_id);
    throw new TooMany('This shop has too many open invoices at the moment', CAP_RETRY_SECONDS);
  }
  if (holder !== null) {
    const share = Math.max(1, Math.floor(openInvoicesMax / SHARES));
    const hasShare = () => tx.get(heldByAbove, { client_id, holder, above: share - 1 }) !== undefined;
    if (hasShare()) release(app, tx, tx.all(abandonedBy, { ...turn, holder }));
    if (hasShare()) throw new TooMany('Too many open invoices from this address', CAP_RETRY_SECONDS);
  }
  tx.run(setHolds, { invoice_id: invoice.id, holds: true, holder });
}

/** Cancels invoices that nobody paid while their quote held. */
function release(app: App, tx: Tx, rows: readonly { invoice_id: number }[]): void {
  for (const { invoice_id } of rows) settleInvoice(app, tx, invoice_id, { decision: 'cancel' });
}

/** In a write of its own: the one that found it out is refused and leaves nothing. */
function alertFull(app: App, invoice: InvoiceRow, clientId: number): void {
  const { name, network } = app.directory.business(invoice.business_id);
  const client = app.directory.clients().find(({ id }) => id === clientId);
  if (network === 'sandbox' || !client) return;
  const limit = `browser.open_invoices_max = ${app.config.browser.openInvoicesMax}`;
  const message = `${name}: ${client.publicId} has as many open invoices as it may (${limit}), all within their quote: browsers cannot pay`;
  void raise(app, 'browser.full', client.publicId, message, network);
}
