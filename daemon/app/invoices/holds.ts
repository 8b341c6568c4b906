/**
 * Limits how many addresses the invoices of a client ID hold, and those of all payment links of a business together. Anybody can make such invoices, so each caller has a share of what is
 * free, and unpaid ones make room for others.
 *
 * Invariant: a share shrinks as the limit fills, so a few callers never fill it: ten addresses take about half, a hundred leave
 * one in eleven. A caller's first address waits for nobody's pace.
 */
import { createHash } from 'node:crypto';
import { TooMany } from '../../domain/errors.ts';
import { message } from '../../domain/messages.ts';
import {
  abandonedBy,
  abandonedOf,
  clientInvoice,
  heldAbove,
  heldByNetworkAbove,
  heldByProviderAbove,
  heldBySiteAbove,
  heldOf,
  setHolds,
} from '../../store/queries/clients.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import type { Tx } from '../../store/store.ts';
import { raise } from '../alerts.ts';
import type { App } from '../app.ts';
import { linksOfBusinessAsClient, madeByAnybody } from '../shops/clients.ts';
import { settleInvoice } from './settle.ts';

/** The share of one address (IPv6: of its /64), of a /56, and of a /48 is this part of the free ones. */
const SHARES = [10, 5, 3] as const;
const HELD_BY = [heldByNetworkAbove, heldBySiteAbove, heldByProviderAbove] as const;
const RELEASED_AT_ONCE_MAX = 10;
/** Invoices that are looked through for such as make room. */
const SEARCHED_MAX = 500;
const CAP_RETRY_SECONDS = 60;
const HOLDER_CHARACTERS = 32;
/** From this part of the limit on, addresses beyond a caller's first are given at a pace: this part of the limit a minute. */
const CALM = 10;
const PACE = 15;

/** A hash, because payers' addresses are not stored. */
const holderOf = (asker: string): string =>
  createHash('sha256').update(asker).digest('hex').slice(0, HOLDER_CHARACTERS);

const upDivided = (units: number, by: number): number => Math.max(1, Math.ceil(units / by));

/**
 * Counts an invoice that gets an address. `asker`: the networks of the request, the narrowest first; none if unknown.
 * Throws `TooMany` if the asker or the client ID has too many of them open.
 */
export function holdAddress(app: App, tx: Tx, invoice: InvoiceRow, asker: readonly string[]): void {
  const made = madeByAnybody(invoice) ? tx.get(clientInvoice, { invoice_id: invoice.id }) : undefined;
  if (!made) return;
  const { client_id } = made;
  const { openInvoicesMax } = app.config.browser;
  const holders = asker.map(holderOf);
  const turn = { client_id, now: app.now(), unseen: app.holds.unseenSince(), limit: SEARCHED_MAX };

  const above = openInvoicesMax - 1;
  const isFull = () => tx.get(heldAbove, { client_id, above }) !== undefined;
  if (isFull()) release(app, tx, tx.all(abandonedOf, turn));
  if (isFull()) {
    alertFull(app, invoice, client_id);
    throw new TooMany('This shop has too many open invoices at the moment', CAP_RETRY_SECONDS);
  }
  const [first] = holders;
  if (first !== undefined) {
    const isAbove = () => hasShare(app, tx, client_id, holders);
    if (isAbove()) release(app, tx, tx.all(abandonedBy, { ...turn, holder: first }));
    if (isAbove()) throw new TooMany('Too many open invoices from this address', CAP_RETRY_SECONDS);
    pace(app, tx, client_id, first);
  }
  const [holder = null, holder_site = null, holder_provider = null] = holders;
  tx.run(setHolds, { invoice_id: invoice.id, holds: true, holder, holder_site, holder_provider });
}

/** Whether one of a caller's networks has its share of what is free. */
function hasShare(app: App, tx: Tx, client_id: number, holders: readonly string[]): boolean {
  const free = app.config.browser.openInvoicesMax - heldBy(tx, client_id);
  return holders.some((holder, at) => {
    const above = upDivided(free, SHARES[at]!) - 1;
    return tx.get(HELD_BY[at]!, { client_id, holder, above }) !== undefined;
  });
}

const heldBy = (tx: Tx, client_id: number): number => tx.get(heldOf, { client_id })?.held ?? 0;

/** Throws `TooMany` for an address beyond a caller's first while many are held and many were given in this minute. */
function pace(app: App, tx: Tx, client_id: number, holder: string): void {
  const { openInvoicesMax } = app.config.browser;
  const isFirst = tx.get(heldByNetworkAbove, { client_id, holder, above: 0 }) === undefined;
  if (isFirst || heldBy(tx, client_id) < upDivided(openInvoicesMax, CALM)) return;
  if (app.holds.further(client_id) >= upDivided(openInvoicesMax, PACE)) {
    throw new TooMany('Too many open invoices from this address', CAP_RETRY_SECONDS);
  }
  tx.afterCommit(() => app.holds.countFurther(client_id));
}

/** Cancels invoices that were not paid while their quote was valid, or that nobody looks at. */
function release(app: App, tx: Tx, rows: readonly { invoice_id: number; quote_ends_at: number }[]): void {
  const left = rows.filter(({ invoice_id, quote_ends_at }) => {
    return quote_ends_at <= app.now() || !app.holds.isLookedAt(invoice_id);
  });
  for (const { invoice_id } of left.slice(0, RELEASED_AT_ONCE_MAX)) {
    settleInvoice(app, tx, invoice_id, { decision: 'cancel' });
  }
}

/** In a separate write, because a refused write leaves nothing. */
function alertFull(app: App, invoice: InvoiceRow, clientId: number): void {
  const { name, network } = app.directory.business(invoice.business_id);
  const areLinks = clientId === linksOfBusinessAsClient(invoice.business_id);
  const client = app.directory.clients().find(({ id }) => id === clientId);
  if (network === 'sandbox' || !(areLinks || client)) return;
  const limit = app.config.browser.openInvoicesMax;
  const subject = client?.publicId ?? `links ${invoice.business_id}`;
  const text = client
    ? message('browser.full', { business: name, client: client.publicId, limit })
    : message('links.full', { business: name, limit });
  void raise(app, network, 'browser.full', subject, text);
}
