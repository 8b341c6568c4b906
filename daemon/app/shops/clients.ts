/**
 * Client IDs, with which a shop's pages call the browser API, and their invoices.
 *
 * Invariant: `holds` is 1 exactly while such an invoice is unpaid and has an address, so that the limit of a client ID
 * counts the addresses in use.
 */

import { getDomain, getPublicSuffix } from 'tldts';
import type { Network } from '../../domain/assets.ts';
import { assert, Rejected } from '../../domain/errors.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { allClients, type ClientRow, insertClient, revokeClient, setClient } from '../../store/queries/businesses.ts';
import { clientInvoice, insertClientInvoice, setHolds } from '../../store/queries/clients.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { randomText } from '../ids.ts';
import type { Business, Client } from './directory.ts';

const CLIENTS_MAX = 1_000;
const CLIENT_CHARACTERS = 24;

/** How long after the end of its quote an invoice that anybody could make is canceled if no money came. */
const ABANDONED_MS = MS_PER_DAY;

/** The public suffix list with its private part: the owner of `me.github.io` does not own `you.github.io`. */
const SUFFIXES = { allowPrivateDomains: true };

export type NewClient = { name: string; origins: readonly string[]; hosts: readonly string[] | undefined };

/**
 * Makes a public client ID. Only the sandbox's may have no origin; it then accepts any. Without `hosts`, those of the
 * origins. Throws `Rejected`.
 */
export function addClient(
  app: App,
  tx: Tx,
  business: Pick<Business, 'id' | 'network'>,
  { name, origins, hosts }: NewClient,
): ClientRow {
  if (tx.all(allClients, {}).filter((row) => row.revoked_at === null).length >= CLIENTS_MAX) {
    throw new Rejected('client.too_many', `There are ${CLIENTS_MAX} client IDs already: revoke some first`);
  }
  const { id } = tx.run(insertClient, {
    public_id: `ch_client_${randomText(CLIENT_CHARACTERS)}`,
    business_id: business.id,
    name,
    ...checked(business.network, origins, hosts ?? hostsOf(origins)),
    created_at: app.now(),
  });
  tx.afterCommit(() => app.directory.load(app.store));
  return rowOf(tx, id);
}

/** Changes the origins or hosts of a client ID; undefined ones stay. Throws `Rejected`. */
export function changeClient(
  app: App,
  tx: Tx,
  { id, name, business_id, origins, url_hosts }: ClientRow,
  change: { origins: readonly string[] | undefined; hosts: readonly string[] | undefined },
): ClientRow {
  const { network } = app.directory.business(business_id);
  const lists = checked(network, change.origins ?? origins, change.hosts ?? url_hosts);
  if (tx.run(setClient, { id, name, ...lists }).changes !== 1) {
    throw new Rejected('client.not_found', 'Client ID not found');
  }
  tx.afterCommit(() => app.directory.load(app.store));
  return rowOf(tx, id);
}

/** Revokes a client ID. Throws `Rejected` if it does not exist or was revoked. */
export function endClient(app: App, tx: Tx, id: number): void {
  if (tx.run(revokeClient, { id, revoked_at: app.now() }).changes !== 1) {
    throw new Rejected('client.not_found', 'There is no such client ID, or it was revoked already');
  }
  tx.afterCommit(() => app.directory.load(app.store));
}

function rowOf(reader: Reader, id: number): ClientRow {
  const row = reader.all(allClients, {}).find((client) => client.id === id);
  assert(row, `no client ${id}`);
  return row;
}

/** The lists of a client ID without repetitions. Throws `Rejected`. */
function checked(network: Network, origins: readonly string[], hosts: readonly string[]) {
  if (origins.length === 0 && network !== 'sandbox') {
    throw new Rejected('client.origin', 'Give at least one origin, such as https://shop.example', 'origins');
  }
  return { origins: [...new Set(origins)].map(checkOrigin), url_hosts: [...new Set(hosts.map(checkHost))] };
}

/** Throws unless the text is an origin as browsers send it: scheme, host, and a port that is not the default. */
function checkOrigin(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || !/^https?:$/.test(url.protocol) || url.origin !== text) {
    throw new Rejected('client.origin', `${text} is no origin: write it like https://shop.example`, 'origin');
  }
  return text;
}

/** A host as in URLs: lower case, without a port. */
function checkHost(text: string): string {
  const host = text.toLowerCase();
  const url = URL.canParse(`http://${host}/`) ? new URL(`http://${host}/`) : null;
  if (url?.hostname === host) return host;
  throw new Rejected('client.host', `${text} is no host: write it like shop.example`, 'hosts');
}

/** Whether the client ID may use a URL's host: one of its list, or a subdomain of one that is no public suffix. */
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

export function noteClient(tx: Tx, invoiceId: number, clientId: number): void {
  tx.run(insertClientInvoice, { invoice_id: invoiceId, client_id: clientId, holds: false });
}

/** The client ID that made an invoice; null if none did, or if it was revoked. */
export function clientOf(app: App, reader: Reader, invoice: InvoiceRow): Client | null {
  if (invoice.origin !== 'client') return null;
  const made = reader.get(clientInvoice, { invoice_id: invoice.id });
  return (made && app.directory.clients().find(({ id }) => id === made.client_id)) ?? null;
}

/** Whether anybody could make an invoice: through a client ID, or by a payment link. */
export const madeByAnybody = ({ origin }: Pick<InvoiceRow, 'origin'>): boolean =>
  origin === 'client' || origin === 'link';

/** All links of a business share one limit of addresses, as if they were a client ID of this number, which none has. */
export const linksOfBusinessAsClient = (businessId: number): number => -businessId;

/** Stops counting a decided invoice. */
export function releaseAddress(tx: Tx, invoice: Pick<InvoiceRow, 'id' | 'origin'>): void {
  if (madeByAnybody(invoice))
    tx.run(setHolds, { invoice_id: invoice.id, holds: false, holder: null, holder_site: null, holder_provider: null });
}

/** When an invoice is canceled if no money came for it, whatever its due date; null: never. */
export function abandonedAt(invoice: InvoiceRow, quoteEndsAt: number): number | null {
  return madeByAnybody(invoice) ? quoteEndsAt + ABANDONED_MS : null;
}
