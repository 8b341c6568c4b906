/**
 * The part of an invoice's money that may still go back to its payer.
 *
 * Invariant: an overpayment that is sent back is at most the confirmed money on the chain beyond the price, less the refunds before.
 * So after a reorganisation removed a deposit, the others pay for the price first.
 */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { formatUnits, maxOf, minOf } from '../../domain/money.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type InvoiceRow, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { overpaidOf } from '../../store/queries/policies.ts';
import { refundLinkWaitingIn } from '../../store/queries/refund-links.ts';
import { refundsOfInvoice } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { standingExcess } from '../invoices/overpaid.ts';
import { creditsFor } from '../invoices/payment-targets.ts';

const sum = (rows: readonly { units: bigint }[]): bigint => rows.reduce((total, { units }) => total + units, 0n);

/** The confirmed amount that an invoice counts in an asset, smallest units. */
export function confirmedUnits(reader: Reader, payment: PaymentRow, asset: AssetId): bigint {
  const mine = ({ claim, confirmed, asset: other }: CreditRow) => claim === 'invoice' && confirmed && other === asset;
  return sum(creditsFor(reader, payment).filter(mine));
}

const promisedUnits = (reader: Reader, invoice_id: number, asset: AssetId): bigint =>
  sum(reader.all(refundsOfInvoice, { invoice_id, asset }));

/**
 * The confirmed amount of an invoice in an asset less its refunds, smallest units; below 0 if a reorganisation removed
 * a receipt. `held`: by refund links.
 */
export function leftUnits(reader: Reader, payment: PaymentRow, asset: AssetId, held: bigint): bigint {
  return confirmedUnits(reader, payment, asset) - promisedUnits(reader, payment.invoice_id, asset) - held;
}

/**
 * The amount of an invoice that refund links hold: such as wait for the payer's address, or for their withdrawal. `but`: the link
 * that is being carried out.
 */
export function heldByLinks(
  app: App,
  reader: Reader,
  invoice_id: number,
  asset: AssetId,
  but: number | null = null,
): bigint {
  const links = reader.all(refundLinkWaitingIn, { invoice_id, asset, now: app.now() });
  return links.reduce((total, { id, units }) => (id === but ? total : total + (units ?? 0n)), 0n);
}

type Overpaid = {
  id: number;
  asset: AssetId;
  /** The part of it that is on the chain, confirmed or not, less the refunds of the invoice; smallest units, at least 0. */
  units: bigint;
  /** Whether all that counted for the invoice has its confirmations. Until then its price alone may be confirmed. */
  isConfirmed: boolean;
};

/** The overpayment of an invoice that is not decided, or null. */
export function openOverpaid(reader: Reader, invoice: InvoiceRow): Overpaid | null {
  const item = reader.get(overpaidOf, { invoice_id: invoice.id });
  if (item?.state !== 'open' || item.units === null) return null;
  const { id, asset, units } = item;
  const payment = invoice.status === 'paid' ? reader.get(paymentOf, { invoice_id: invoice.id }) : undefined;
  if (!payment) return { id, asset, units, isConfirmed: false };
  const stands = minOf(units, standingExcess(reader, invoice, payment));
  return {
    id,
    asset,
    units: maxOf(stands - promisedUnits(reader, invoice.id, asset), 0n),
    isConfirmed: creditsFor(reader, payment).every(({ claim, confirmed }) => claim !== 'invoice' || confirmed),
  };
}

/** The same, if all of it is confirmed and no refund link, but for `link`, holds it. Null: there is nothing to send. */
export function sendableOverpaid(
  app: App,
  reader: Reader,
  invoice: InvoiceRow,
  link: number | null = null,
): Overpaid | null {
  const over = openOverpaid(reader, invoice);
  if (!over?.isConfirmed) return null;
  const units = over.units - heldByLinks(app, reader, invoice.id, over.asset, link);
  return units > 0n ? { ...over, units } : null;
}

/**
 * The overpayment behind a deposit in the inbox, to send it back. `link`: the refund link that it is for. Throws `Rejected`:
 * `inbox.no_invoice`, `inbox.locked` until it is confirmed, as it would be paid out of the price, and `refund.nothing` if nothing of
 * it is left.
 */
export function overpaidToRefund(
  app: App,
  reader: Reader,
  deposit: number,
  invoice: InvoiceRow | undefined,
  link: number | null = null,
): Overpaid {
  const open = invoice && openOverpaid(reader, invoice);
  if (!open) throw new Rejected('inbox.no_invoice', `Deposit ${deposit} belongs to no invoice`);
  if (invoice.status === 'paid' && !open.isConfirmed) {
    throw new Rejected(
      'inbox.locked',
      `Deposit ${deposit} cannot be sent back yet: wait until all that invoice ${invoice.slug} received is confirmed.`,
    );
  }
  if (invoice.status !== 'paid') return open;
  const over = sendableOverpaid(app, reader, invoice, link);
  if (over) return over;
  const held = formatUnits(open.units, assetOf(open.asset));
  const why =
    open.units > 0n
      ? `a refund link holds ${held} ${open.asset}.`
      : 'what it received beyond its price left the chain, or went back already.';
  throw new Rejected(
    'refund.nothing',
    `Nothing of the overpayment of invoice ${invoice.slug} can be sent back: ${why}`,
  );
}
