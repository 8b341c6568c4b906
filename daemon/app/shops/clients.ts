/**
 * Client IDs, with which a shop's pages call the browser API, and their invoices.
 *
 * Invariant: `holds` is 1 exactly while such an invoice is unpaid and has an address, so that the limit of a client ID
 * counts the addresses in use.
 */
import { getDomain, getPublicSuffix } from 'tldts';
import { clientInvoice, insertClientInvoice, setHolds } from '../../store/queries/clients.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { type App, MS_PER_HOUR } from '../app.ts';
import type { Client } from './directory.ts';

/** How long after the end of its quote an invoice that anybody could make is canceled if no money came. */
const ABANDONED_MS = 24 * MS_PER_HOUR;

/** The public suffix list with its private part: the owner of `me.github.io` does not own `you.github.io`. */
const SUFFIXES = { allowPrivateDomains: true };

/**
 * Whether the client ID may use a URL's host: one of its list, or a subdomain of one, unless that one is a public
 * suffix.
 */
export function allowsHost(client: Client, url: string): boolean {
  const host = new URL(url).hostname.replace(/\.$/, '');
  return client.hosts.some((allowed) => {
    return host === allowed || (host.endsWith(`.${allowed}`) && getPublicSuffix(allowed, SUFFIXES) !== allowed);
  });
}

/** The hosts that follow from origins: the registrable domain of each, or the host itself (localhost, an address). */
export function hostsOf(origins: readonly string[]): string[] {
  const hosts = origins.filter((text) => URL.canParse(text)).map((text) => new URL(text).hostname);
  return [...new Set(hosts.map((host) => getDomain(host, SUFFIXES) ?? host))];
}

/** Records the client ID that made an invoice. */
export function noteClient(tx: Tx, invoiceId: number, clientId: number): void {
  tx.run(insertClientInvoice, { invoice_id: invoiceId, client_id: clientId, holds: false });
}

/** The client ID that made an invoice; null if none did, or if it was revoked. */
export function clientOf(app: App, reader: Reader, invoice: InvoiceRow): Client | null {
  if (invoice.origin !== 'client') return null;
  const made = reader.get(clientInvoice, { invoice_id: invoice.id });
  return (made && app.directory.clients().find(({ id }) => id === made.client_id)) ?? null;
}

/** Stops counting a decided invoice. */
export function releaseAddress(tx: Tx, invoice: Pick<InvoiceRow, 'id' | 'origin'>): void {
  if (invoice.origin === 'client') tx.run(setHolds, { invoice_id: invoice.id, holds: false, holder: null });
}

/** When an invoice is canceled if no money came for it, whatever its due date; null: never. */
export function abandonedAt(invoice: InvoiceRow, quoteEndsAt: number): number | null {
  return invoice.origin === 'client' ? quoteEndsAt + ABANDONED_MS : null;
}
