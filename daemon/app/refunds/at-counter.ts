/**
 * A refund that is asked for at the counter: a refund link for a sale of it, which the customer opens with a telephone.
 *
 * Invariant: nothing that a till may call makes a withdrawal or decides about one. The customer types the address on the shop's page, and
 * the withdrawal that follows waits for an approval elsewhere.
 */
import { type RefundLinkRow, refundLinksOfInvoice } from '../../store/queries/refund-links.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { findSale } from '../operator/counter.ts';
import { makeInvoiceLink, REFUND_LINK_DAYS, type RefundLinkState, refundLinkState } from './links.ts';

const LINKS_MAX = 20;
/** A link that came to nothing leaves the money to the next one. */
const PASSED: readonly RefundLinkState[] = ['over', 'refused'];

/** The newest refund link of a sale that has not come to nothing; null: there is none. */
export function refundOfSale(app: App, reader: Reader, invoiceId: number): RefundLinkRow | null {
  const rows = reader.all(refundLinksOfInvoice, { invoice_id: invoiceId, limit: LINKS_MAX });
  return rows.find((row) => !PASSED.includes(refundLinkState(app, reader, row))) ?? null;
}

/**
 * Asks for the refund of all that is left of a sale. One that is under way is returned, so that asking twice asks once.
 * Throws `Rejected('invoice.not_found')` for every other invoice, and as `makeInvoiceLink`.
 */
export function refundSale(app: App, tx: Tx, slug: string): RefundLinkRow {
  const sale = findSale(tx, slug);
  const former = refundOfSale(app, tx, sale.id);
  if (former && refundLinkState(app, tx, former) !== 'done') return former;
  return makeInvoiceLink(app, tx, { invoice: slug, amount: null, crypto: null }, REFUND_LINK_DAYS.usual);
}
