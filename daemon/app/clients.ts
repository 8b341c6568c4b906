/**
 * Client IDs, with which a shop's pages call the browser API, and the invoices made with them.
 *
 * Invariant: `holds` is 1 exactly while such an invoice is unpaid and has an address, so that the cap of a client ID
 * counts what really binds addresses, and counts no further than the cap.
 */
import { getDomain, getPublicSuffix } from 'tldts';
import { TooMany } from '../domain/errors.ts';
import { clientInvoice, heldAbove, insertClientInvoice, setHolds } from '../store/queries/clients.ts';
import type { InvoiceRow } from '../store/queries/invoices.ts';
import type { Reader, Tx } from '../store/store.ts';
import { type App, MS_PER_HOUR } from './app.ts';
import type { Client } from './directory.ts';

/** An invoice that anybody could make, and for which nothing came, is canceled that long after its quote ended. */
const ABANDONED_MS = 24 * MS_PER_HOUR;
const CAP_RETRY_SECONDS = 60;

/** Whether pages of this origin (as browsers send it, `null` too) may use the client ID. */
export function allowsOrigin(app: App, client: Client, origin: string): boolean {
  return client.origins.has(origin) || app.directory.business(client.businessId).network === 'sandbox';
}

/** The public suffix list with its private part: who has `me.github.io` has nothing to say about `you.github.io`. */
const SUFFIXES = { allowPrivateDomains: true };

/**
 * Whether the client ID may name a URL's host: one of its list, or below one of its list, unless that one is a suffix
 * under which others have their names. In the sandbox it may any.
 */
export function allowsHost(app: App, client: Client, url: string): boolean {
  if (app.directory.business(client.businessId).network === 'sandbox') return true;
  const host = new URL(url).hostname.replace(/\.$/, '');
  return client.hosts.some((allowed) => {
    return host === allowed || (host.endsWith(`.${allowed}`) && getPublicSuffix(allowed, SUFFIXES) !== allowed);
  });
}

/** The hosts that follow from origins: each its registrable domain, or itself where it has none (localhost, an address). */
export function hostsOf(origins: readonly string[]): string[] {
  const hosts = origins.filter((text) => URL.canParse(text)).map((text) => new URL(text).hostname);
  return [...new Set(hosts.map((host) => getDomain(host, SUFFIXES) ?? host))];
}

/** Notes which client ID made an invoice. */
export function noteClient(tx: Tx, invoiceId: number, clientId: number): void {
  tx.run(insertClientInvoice, { invoice_id: invoiceId, client_id: clientId });
}

/** The client ID that an invoice was made with; null when by none, or by one that was revoked since. */
export function clientOf(app: App, reader: Reader, invoice: InvoiceRow): Client | null {
  if (invoice.origin !== 'client') return null;
  const made = reader.get(clientInvoice, { invoice_id: invoice.id });
  return (made && app.directory.clients().find(({ id }) => id === made.client_id)) ?? null;
}

/** Counts an invoice that is being given an address. Throws `TooMany` when its client ID has too many of them open. */
export function holdAddress(app: App, tx: Tx, invoice: InvoiceRow): void {
  const made = invoice.origin === 'client' ? tx.get(clientInvoice, { invoice_id: invoice.id }) : undefined;
  if (!made) return;
  const above = app.config.browser.openInvoicesMax - 1;
  if (tx.get(heldAbove, { client_id: made.client_id, above })) {
    throw new TooMany('This shop has too many open invoices at the moment', CAP_RETRY_SECONDS);
  }
  tx.run(setHolds, { invoice_id: invoice.id, holds: 1 });
}

/** Counts an invoice no longer: it was decided. */
export function releaseAddress(tx: Tx, invoice: Pick<InvoiceRow, 'id' | 'origin'>): void {
  if (invoice.origin === 'client') tx.run(setHolds, { invoice_id: invoice.id, holds: 0 });
}

/** From when on an invoice is canceled if nothing came for it, whatever its due date; null: never for that reason. */
export function abandonedAt(invoice: InvoiceRow, quoteEndsAt: number): number | null {
  return invoice.origin === 'client' ? quoteEndsAt + ABANDONED_MS : null;
}
