/**
 * Refund links: the payer types the address of a refund on a page of the shop, once, and the merchant approves the withdrawal.
 *
 * Invariant: the amount of a link that waits is not refunded otherwise (`heldByLinks`), so of two people who refund the same money
 * the second is told. Typing the address is one compare-and-set.
 */

import { addressFault } from '../../chains/address-fault.ts';
import { type Asset, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { exactDecimal, formatUnits } from '../../domain/money.ts';
import { MS_PER_DAY } from '../../domain/time.ts';
import { creditById } from '../../store/queries/credits.ts';
import { invoiceById } from '../../store/queries/invoices.ts';
import { inboxById } from '../../store/queries/policies.ts';
import {
  insertRefundLink,
  type RefundLinkRow,
  refundLinkById,
  refundLinkBySlug,
  refundLinkOfDeposit,
  refundLinksBefore,
  refundLinksOfDeposit,
  refundLinksOfInvoice,
  refundLinksWaiting,
  stepRefundLink,
} from '../../store/queries/refund-links.ts';
import { withdrawalById } from '../../store/queries/withdrawals.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { newSlug } from '../ids.ts';
import { findInvoice } from '../invoices/invoices.ts';
import { isTooSmall } from '../invoices/payments.ts';
import { targetsOfText } from '../operator/search.ts';
import type { Business } from '../shops/directory.ts';
import { needSignable } from '../spends/plan.ts';
import { overpaidToRefund } from '../spends/refund-left.ts';
import { refundableDeposit } from '../withdrawals/inbox.ts';
import { refundWanted } from '../withdrawals/refund.ts';
import { chainOf } from '../withdrawals/request.ts';

/** How long a payer may type the address. */
export const REFUND_LINK_DAYS = { least: 1, usual: 7, most: 90 } as const;

/** `amount`: decimal, in whole coins; null: all that is left. `crypto`: null: the payment's. */
type OfInvoice = { invoice: string; amount: string | null; crypto: string | null };

const tooSmall = (asset: Asset): Rejected =>
  new Rejected('refund.too_small', `The amount is too small for the network of ${asset.symbol} to carry.`, 'amount');

/** A link for the money of a paid invoice. If one for the same amount waits already, it is that one. Throws as `refundWanted`. */
export function makeInvoiceLink(
  app: App,
  tx: Tx,
  wanted: OfInvoice,
  days: number,
  inboxId: number | null = null,
): RefundLinkRow {
  const invoice = findInvoice(tx, wanted.invoice);
  const business = app.directory.business(invoice.business_id);
  const former = waitingFor(app, tx, invoice.id, wanted);
  if (former) return former;
  const { amount, crypto } = wanted;
  const { asset, units } = refundWanted(app, tx, business, invoice, { address: '', amount, crypto });
  if (units === null || isTooSmall(app, business, asset, units)) throw tooSmall(asset);
  return insert(app, tx, business, { invoice_id: invoice.id, inbox_id: inboxId, asset, units, days });
}

/** The link that waits for the same: by its amount, or without one any of the invoice. */
function waitingFor(app: App, tx: Tx, invoice_id: number, { amount, crypto }: OfInvoice): RefundLinkRow | undefined {
  return tx.all(refundLinksWaiting, { invoice_id, now: app.now() }).find(({ state, asset, units }) => {
    const isOf = state === 'open' && (crypto === null || asset === crypto);
    return isOf && (amount === null || exactDecimal(amount, assetOf(asset).decimals) === units);
  });
}

/** A link for a deposit in the inbox. Throws `Rejected`: `inbox.*`, and as `makeInvoiceLink` for an overpayment. */
export function makeDepositLink(app: App, tx: Tx, id: number, days: number): RefundLinkRow {
  const former = tx.get(refundLinkOfDeposit, { inbox_id: id, now: app.now() });
  if (former) return former;
  const { item, credit } = refundableDeposit(app, tx, id);
  const business = app.directory.business(item.business_id);
  const asset = assetOf(credit.asset);
  const account = app.directory.account(business, asset.symbol);
  if (account) needSignable(app, account, asset.symbol);
  if (item.units === null) {
    if (isTooSmall(app, business, asset, credit.units)) throw tooSmall(asset);
    return insert(app, tx, business, { invoice_id: null, inbox_id: id, asset, units: null, days });
  }
  const invoice = item.invoice_id === null ? undefined : tx.get(invoiceById, { id: item.invoice_id });
  const over = overpaidToRefund(app, tx, id, invoice);
  const amount = formatUnits(over.units, assetOf(over.asset));
  return makeInvoiceLink(app, tx, { invoice: invoice!.slug, amount, crypto: over.asset }, days, id);
}

type NewLink = { invoice_id: number | null; inbox_id: number | null; asset: Asset; units: bigint | null; days: number };

function insert(app: App, tx: Tx, { id: business_id }: Business, { asset, days, ...rest }: NewLink): RefundLinkRow {
  const now = app.now();
  const { id } = tx.run(insertRefundLink, {
    slug: newSlug(),
    business_id,
    ...rest,
    asset: asset.symbol,
    state: 'open',
    ends_at: now + days * MS_PER_DAY,
    address: null,
    given_at: null,
    withdrawal_id: null,
    problem: null,
    created_at: now,
    updated_at: now,
  });
  changed(app, tx, id);
  return tx.get(refundLinkById, { id })!;
}

/** Tells open consoles. */
export function changed(app: App, tx: Tx, id: number): void {
  const { invoice_id, inbox_id } = tx.get(refundLinkById, { id })!;
  const invoice = invoice_id === null ? undefined : tx.get(invoiceById, { id: invoice_id });
  tx.afterCommit(() => {
    if (invoice) app.operatorEvents.tell('invoice', invoice.slug);
    if (inbox_id !== null) app.operatorEvents.tell('inbox', `${inbox_id}`);
  });
}

/** Throws `Rejected('refund_link.not_found')`. */
export function findRefundLink(reader: Reader, ref: number | string): RefundLinkRow {
  const row =
    typeof ref === 'number' ? reader.get(refundLinkById, { id: ref }) : reader.get(refundLinkBySlug, { slug: ref });
  if (!row) throw new Rejected('refund_link.not_found', 'There is no such refund link');
  return row;
}

/** Ends a link on which no address was typed, or whose withdrawal was not made. Throws `Rejected('refund_link.over')`. */
export function endRefundLink(app: App, tx: Tx, id: number): RefundLinkRow {
  const { state } = findRefundLink(tx, id);
  if (state === 'ended' || tx.run(stepRefundLink, { id, from: state, to: 'ended', now: app.now() }).changes !== 1) {
    throw new Rejected('refund_link.over', 'This refund link has ended, or its withdrawal was made already');
  }
  changed(app, tx, id);
  return findRefundLink(tx, id);
}

/** Why a text is no address of the refund's coin and network; null: it is one. */
function refundAddressFault(app: App, link: RefundLinkRow, text: string): string | null {
  const chain = chainOf(app, app.directory.business(link.business_id), assetOf(link.asset));
  return chain ? addressFault(chain.adapter, text) : 'its network is not connected';
}

/** Whether a text is an address of the refund's coin and network that this service watches. */
export const isOurs = (app: App, link: RefundLinkRow, text: string): boolean =>
  refundAddressFault(app, link, text) === null && targetsOfText(app, text).length > 0;

/** Throws `Rejected('withdrawal.address')` unless the text is an address of the refund's coin and network, and not one of ours. */
export function checkRefundAddress(app: App, link: RefundLinkRow, address: string): void {
  const asset = assetOf(link.asset);
  const fault = refundAddressFault(app, link, address);
  const why = fault ?? (isOurs(app, link, address) ? 'it is an address of the shop' : null);
  if (why === null) return;
  throw new Rejected('withdrawal.address', `The address is invalid for ${asset.symbol}: ${why}.`, 'address');
}

/** Whether a payer may type the address now. */
export const isOpen = ({ state, ends_at }: RefundLinkRow, now: number): boolean => state === 'open' && now < ends_at;

type Page = { before?: number | undefined; limit: number };

/** The newest refund links; of one invoice or of one item of the inbox alone if one is named. */
export function refundLinkPage(
  app: App,
  { before = Number.MAX_SAFE_INTEGER, limit }: Page,
  of: { invoice?: string | undefined; inbox?: number | undefined } = {},
): RefundLinkRow[] {
  if (of.invoice !== undefined) {
    return app.store.all(refundLinksOfInvoice, { invoice_id: findInvoice(app.store, of.invoice).id, limit });
  }
  if (of.inbox !== undefined) return app.store.all(refundLinksOfDeposit, { inbox_id: of.inbox, limit });
  return app.store.all(refundLinksBefore, { id: before, limit });
}

/** The fate of a link. `waits`: for the payer. `given`: the address is known. The others follow its withdrawal. */
export type RefundLinkState = 'waits' | 'given' | 'approved' | 'sent' | 'done' | 'refused' | 'over';

export function refundLinkState(app: App, reader: Reader, link: RefundLinkRow): RefundLinkState {
  if (link.state !== 'given') return isOpen(link, app.now()) ? 'waits' : 'over';
  const row = link.withdrawal_id === null ? undefined : reader.get(withdrawalById, { id: link.withdrawal_id });
  switch (row?.state) {
    case 'approved':
    case 'signed':
      return 'approved';
    case 'broadcast':
      return 'sent';
    case 'completed':
      return 'done';
    case 'rejected':
    case 'failed':
      return 'refused';
    default:
      return 'given';
  }
}

/** The invoice that a link is about, and the withdrawal's transaction once it was sent. */
export function refundLinkFacts(
  reader: Reader,
  { invoice_id, withdrawal_id }: RefundLinkRow,
): { invoice: string | null; order: string | null; txid: string | null } {
  const invoice = invoice_id === null ? undefined : reader.get(invoiceById, { id: invoice_id });
  const row = withdrawal_id === null ? undefined : reader.get(withdrawalById, { id: withdrawal_id });
  const isSent = row?.state === 'broadcast' || row?.state === 'completed';
  return { invoice: invoice?.slug ?? null, order: invoice?.order_id ?? null, txid: isSent ? row.txid : null };
}

/** The deposit of a link, in smallest units; null: it is about an invoice. */
export function depositUnits(reader: Reader, { inbox_id }: RefundLinkRow): bigint | null {
  const item = inbox_id === null ? undefined : reader.get(inboxById, { id: inbox_id });
  return (item && reader.get(creditById, { id: item.credit_id })?.units) ?? null;
}
