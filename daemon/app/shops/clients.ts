/**
 * Client IDs, with which a shop's pages call the browser API, and the invoices made with them.
 *
 * Invariant: `holds` is 1 exactly while such an invoice is unpaid and has an address, so that the cap of a client ID
 * counts what really binds addresses, and counts no further than the cap.
 */
import { getDomain, getPublicSuffix } from 'tldts';
import { clientInvoice, insertClientInvoice, setHolds } from '../../store/queries/clients.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { type App, MS_PER_HOUR } from '../app.ts';
import type { Client } from './directory.ts';

/** An invoice that anybody could make, and for which nothing came, is canceled that long after its quote ended. */
const ABANDONED_MS = 24 * MS_PER_HOUR;

/** The public suffix list with its private part: who has `me.github.io` has nothing to say about `you.github.io`. */
const SUFFIXES = { allowPrivateDomains: true };

/**
 * Whether the client ID may name a URL's host: one of its list, or below one of its list, unless that one is a suffix
 * under which others have their names.
 */
export function allowsHost(client: Client, url: string): boolean {
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
  tx.run(insertClientInvoice, { invoice_id: invoiceId, client_id: clientId, holds: false });
}

/** The client ID that an invoice was made with; null when by none, or by one that was revoked since. */
export function clientOf(app: App, reader: Reader, invoice: InvoiceRow): Client | null {
  if (invoice.origin !== 'client') return null;
  const made = reader.get(clientInvoice, { invoice_id: invoice.id });
  return (made && app.directory.clients().find(({ id }) => id === made.client_id)) ?? null;
}

/** Counts an invoice no longer: it was decided. */
export function releaseAddress(tx: Tx, invoice: Pick<InvoiceRow, 'id' | 'origin'>): void {
  if (invoice.origin === 'client') tx.run(setHolds, { invoice_id: invoice.id, holds: false, holder: null });
}

/** From when on an invoice is canceled if nothing came for it, whatever its due date; null: never for that reason. */
export function abandonedAt(invoice: InvoiceRow, quoteEndsAt: number): number | null {
  return invoice.origin === 'client' ? quoteEndsAt + ABANDONED_MS : null;
}
