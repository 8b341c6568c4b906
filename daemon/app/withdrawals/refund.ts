/**
 * Refunds of an invoice: withdrawals in a coin that it was paid in, each of which waits for the operator.
 *
 * Invariant: when a refund is asked for, all refunds of its invoice in that coin that were not rejected and have not failed
 * are together no more than what the invoice counts in that coin and is confirmed. What no invoice counts is the inbox's, so nothing is refunded
 * from both. An invoice that is not paid yet has no refunds: its credits may still go to the inbox.
 */
import { type AssetId, assetOf } from '../../domain/assets.ts';
import { Rejected } from '../../domain/errors.ts';
import { exactDecimal, formatUnits } from '../../domain/money.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type InvoiceRow, invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { refundsOfInvoice, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { creditsFor, targetsOf } from '../invoices/payment-targets.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Business } from '../shops/directory.ts';
import { canSpend, type NewWithdrawal } from './request.ts';

/** What of an invoice's confirmed money in a coin was not refunded, in smallest units; below 0 when a reorganisation took some back. */
function leftUnits(reader: Reader, payment: PaymentRow, asset: string): bigint {
  const mine = ({ claim, confirmed, asset: other }: CreditRow) => claim === 'invoice' && confirmed && other === asset;
  const received = creditsFor(reader, payment).filter(mine);
  const refunds = reader.all(refundsOfInvoice, { invoice_id: payment.invoice_id, asset });
  const sum = (rows: readonly { units: bigint }[]) => rows.reduce((total, { units }) => total + units, 0n);
  return sum(received) - sum(refunds);
}

/** What is left to refund of an invoice, in the coin that was asked for: by default the payment's, or another that is left. */
function leftIn(
  reader: Reader,
  payment: PaymentRow,
  crypto: string | null,
): { symbol: AssetId; left: bigint } | undefined {
  const symbols = targetsOf(reader, payment).map(({ asset }) => asset as AssetId);
  const all = symbols.map((symbol) => ({ symbol, left: leftUnits(reader, payment, symbol) }));
  if (crypto !== null && !all.some(({ symbol }) => symbol === crypto)) throw cryptoRejected(symbols);
  return all.find(({ symbol, left }) => left > 0n && (crypto === null || symbol === crypto));
}

/**
 * The withdrawal that refunds an invoice. `amount`: decimal, in whole coins; null: all that is left. `crypto`: the coin,
 * where its payer sent several; null: the payment's while something of it is left. Throws `Rejected`:
 * `refund.not_paid`, `.nothing`, `.too_much`, `withdrawal.crypto`, `validation`.
 */
export function refundWanted(
  app: App,
  reader: Reader,
  business: Business,
  invoice: InvoiceRow,
  { address, amount, crypto }: { address: string; amount: string | null; crypto: string | null },
): NewWithdrawal {
  if (invoice.status !== 'paid') {
    throw new Rejected('refund.not_paid', `Only a paid invoice can be refunded: this one is ${invoice.status}.`);
  }
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  const found = payment && leftIn(reader, payment, crypto);
  if (!found) throw new Rejected('refund.nothing', 'Nothing confirmed is left of what the invoice received.');
  const { left } = found;
  const asset = assetOf(found.symbol);
  if (!canSpend(app, business, asset)) {
    throw new Rejected('withdrawal.crypto', `${asset.symbol} cannot be paid out here.`);
  }
  const units = amount === null ? left : exactDecimal(amount, asset.decimals);
  if (units === null) {
    throw new Rejected('validation', `The amount may have at most ${asset.decimals} decimals.`, 'amount');
  }
  if (units > left) {
    const most = `${formatUnits(left, asset)} ${asset.symbol}`;
    throw new Rejected('refund.too_much', `The amount may not be more than ${most}, what is left to refund.`, 'amount');
  }
  return { asset, units, address, origin: 'refund', invoice: { id: invoice.id, slug: invoice.slug } };
}

/** The invoice that a withdrawal is a refund of, or null. */
export function refundedInvoice(reader: Reader, { invoice_id }: Pick<WithdrawalRow, 'invoice_id'>): InvoiceRow | null {
  return invoice_id === null ? null : (reader.get(invoiceById, { id: invoice_id }) ?? null);
}

/** What an approver is told of a refund: of what it is, and whether its invoice still has that much. Null: it is none. */
export function refundSaid(reader: Reader, row: WithdrawalRow): { note: string; excess: string | null } | null {
  const invoice = refundedInvoice(reader, row);
  if (!invoice) return null;
  const order = invoice.order_id === null ? '' : `, order ${invoice.order_id}`;
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  const isMore = !payment || leftUnits(reader, payment, row.asset) < 0n;
  return {
    note: `Withdrawal ${row.id} is a refund of invoice ${invoice.slug}${order}`,
    excess: isMore
      ? `The refunds of invoice ${invoice.slug} are more than what it has received and is confirmed`
      : null,
  };
}
