/**
 * The part of an invoice's money that may still go back to its payer, and whether what a refund sends back is still there.
 *
 * Invariant: an overpayment that is sent back is at most the confirmed money on the chain beyond the price, less the refunds before.
 * So after a reorganisation removed a deposit, the others pay for the price first.
 */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { formatUnits, maxOf, minOf } from '../../domain/money.ts';
import { type CreditRow, creditById } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { inboxById, overpaidOf } from '../../store/queries/policies.ts';
import { refundLinkWaitingIn } from '../../store/queries/refund-links.ts';
import { refundsOfInvoice, refundsUnderWay, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { standingExcess } from '../invoices/overpaid.ts';
import { creditsFor } from '../invoices/payment-targets.ts';

const sum = (rows: readonly { units: bigint }[]): bigint => rows.reduce((total, { units }) => total + units, 0n);

/** The confirmed amount that an invoice counts in an asset, smallest units. `credits`: those of its payment. */
function confirmedUnits(credits: readonly CreditRow[], asset: AssetId): bigint {
  const mine = ({ claim, confirmed, asset: other }: CreditRow) => claim === 'invoice' && confirmed && other === asset;
  return sum(credits.filter(mine));
}

const promisedUnits = (reader: Reader, invoice_id: number, asset: AssetId): bigint =>
  sum(reader.all(refundsOfInvoice, { invoice_id, asset }));

/**
 * The confirmed amount of an invoice in an asset less its refunds, smallest units; below 0 if a reorganisation removed
 * a receipt. `held`: by refund links.
 */
export function leftUnits(reader: Reader, payment: PaymentRow, asset: AssetId, held: bigint): bigint {
  return confirmedUnits(creditsFor(reader, payment), asset) - promisedUnits(reader, payment.invoice_id, asset) - held;
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
  const credits = creditsFor(reader, payment);
  const stands = minOf(units, standingExcess(invoice, payment, credits));
  return {
    id,
    asset,
    units: maxOf(stands - promisedUnits(reader, invoice.id, asset), 0n),
    isConfirmed: credits.every(({ claim, confirmed }) => claim !== 'invoice' || confirmed),
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

/**
 * Why a refund must not be paid now: `spend.uncovered`, or `spend.unconfirmed` for a deposit; null: it may, or it is no refund of an
 * invoice or of a deposit. A reorganisation after its request may have taken the deposits that it sends back: then it would be paid out
 * of other people's money. So it is judged before it is claimed and before it is signed, and waits.
 */
export function whyUncovered(reader: Reader, row: WithdrawalRow): Rejected | null {
  if (row.outpoint !== null) return whyDepositMissing(reader, row);
  const invoice = row.invoice_id === null ? undefined : reader.get(invoiceById, { id: row.invoice_id });
  if (!invoice) return null;
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  const credits = payment ? creditsFor(reader, payment) : [];
  // whichever refund is paid first takes what there is
  const others = reader.all(refundsUnderWay, { invoice_id: invoice.id, asset: row.asset, id: row.id });
  const there = others.reduce((left, { units }) => left - units, confirmedUnits(credits, row.asset));
  if (there < row.units) return uncovered(row, invoice, 'its confirmed deposits are', there);
  const over = overpaidIn(reader, row);
  const excess = payment && over > 0n ? standingExcess(invoice, payment, credits, true) : 0n;
  return excess < over ? uncovered(row, invoice, 'its confirmed overpayment is', excess) : null;
}

/** The part of a refund that an overpayment in the inbox stands for, smallest units. */
function overpaidIn(reader: Reader, { inbox_id, units }: WithdrawalRow): bigint {
  const item = inbox_id === null ? undefined : reader.get(inboxById, { id: inbox_id });
  return item?.units == null ? 0n : minOf(item.units, units);
}

function uncovered(row: WithdrawalRow, { slug }: InvoiceRow, what: string, units: bigint): Rejected {
  const asset = assetOf(row.asset);
  const there = units > 0n ? `only ${formatUnits(units, asset)} ${asset.symbol}` : 'gone or unconfirmed';
  return new Rejected(
    'spend.uncovered',
    `It refunds invoice ${slug}, and ${what} ${there}: it waits until they are back, or reject it`,
  );
}

/** The same for a deposit in the inbox that is sent back by itself. */
function whyDepositMissing(reader: Reader, row: WithdrawalRow): Rejected | null {
  const item = row.inbox_id === null ? undefined : reader.get(inboxById, { id: row.inbox_id });
  const credit = item && reader.get(creditById, { id: item.credit_id });
  if (!credit) return null;
  if (!credit.gone) {
    // an output of Monero may count before it can be spent
    return credit.settled ? null : new Rejected('spend.unconfirmed', 'The deposit does not have its confirmations yet');
  }
  return new Rejected(
    'spend.uncovered',
    'The deposit that it sends back left the chain: it waits for it, or reject it',
  );
}
