/**
 * Limits how many addresses the invoices of a client ID hold. Anybody can make such invoices, so each caller has a
 * share, and unpaid ones make room for others.
 */
import { createHash } from 'node:crypto';
import { TooMany } from '../../domain/errors.ts';
import { message } from '../../domain/messages.ts';
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

/** One address (IPv6: its /64) may hold this part of a client ID's limit. */
const SHARES = 10;
const RELEASED_AT_ONCE_MAX = 10;
const CAP_RETRY_SECONDS = 60;
const HOLDER_CHARACTERS = 32;

/** A hash, because payers' addresses are not stored. */
const holderOf = (asker: string): string =>
  createHash('sha256').update(asker).digest('hex').slice(0, HOLDER_CHARACTERS);

/**
 * Counts an invoice that gets an address. `asker`: the normalised address of the request, or null. Throws `TooMany` if
 * the asker or the client ID has too many of them open.
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

/** Cancels invoices that were not paid while their quote was valid. */
function release(app: App, tx: Tx, rows: readonly { invoice_id: number }[]): void {
  for (const { invoice_id } of rows) settleInvoice(app, tx, invoice_id, { decision: 'cancel' });
}

/** In a write of its own, because the refused one leaves nothing. */
function alertFull(app: App, invoice: InvoiceRow, clientId: number): void {
  const { name, network } = app.directory.business(invoice.business_id);
  const client = app.directory.clients().find(({ id }) => id === clientId);
  if (network === 'sandbox' || !client) return;
  const limit = app.config.browser.openInvoicesMax;
  const text = message('browser.full', { business: name, client: client.publicId, limit });
  void raise(app, 'browser.full', client.publicId, text, network);
}
