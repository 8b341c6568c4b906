import type { App } from '../../app/app.ts';
import type { InvoiceView, PaymentView } from '../../app/invoices/views.ts';
import { toIso } from '../../domain/calendar.ts';
import { FIAT_DECIMALS, formatDecimal, formatUnits } from '../../domain/money.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import { type Answer, FLAG_NAMES } from '../answers.ts';

export const fiatText = (scaled: bigint): string => formatDecimal(scaled, FIAT_DECIMALS);

const invoiceUrl = (app: App, invoice: InvoiceRow): string => `${app.publicUrl}/pay/${invoice.slug}`;

export function presentCreated(app: App, invoice: InvoiceRow): Answer<'CreatedInvoice'> {
  return {
    id: invoice.slug,
    success: true,
    invoice_url: invoiceUrl(app, invoice),
    due_date: toIso(invoice.due_at),
    amount: fiatText(invoice.amount),
    crypto: invoice.crypto,
    rates: null,
    currency: invoice.currency,
    status: 'unpaid',
  };
}

/** The contract's payment resource with this service's additional fields. */
export function presentPayment(invoice: InvoiceRow, payment: PaymentView): Answer<'Payment'> {
  const { row, asset } = payment;
  return {
    invoice_id: invoice.uuid,
    address: row.address,
    amount: formatUnits(payment.amount, asset),
    status: row.status,
    crypto: row.asset,
    rates: row.rates,
    created_at: toIso(row.created_at),
    updated_at: toIso(row.updated_at),
    received: formatUnits(payment.received, asset),
    confirmed: formatUnits(payment.confirmed, asset),
    refunded: formatUnits(payment.refunded, asset),
    remaining: formatUnits(payment.remaining, asset),
    confirmations: payment.confirmations,
    required_confirmations: payment.required,
    quote_expires_at: toIso(row.quote_ends_at),
    transactions: payment.transactions.map((one) => ({
      tx_id: one.txid,
      ...(one.internal && { internal: true }),
      ...(one.asset.symbol !== row.asset && { crypto: one.asset.symbol }),
      amount: formatUnits(one.units, one.asset),
      confirmations: one.confirmations,
    })),
    underpaid: payment.underpaid,
    overpaid: payment.overpaid,
    late: payment.late,
    undone: payment.undone,
    unvalued: payment.unvalued,
    flags: FLAG_NAMES.filter((name) => payment[name]),
  };
}

export function presentInvoice(app: App, { invoice, payment }: InvoiceView): Answer<'Invoice'> {
  return {
    id: invoice.slug,
    invoice_url: invoiceUrl(app, invoice),
    due_date: toIso(invoice.due_at),
    amount: fiatText(invoice.amount),
    currency: invoice.currency,
    crypto: invoice.crypto,
    url_slug: invoice.slug,
    status: invoice.status,
    rates: payment?.row.rates ?? null,
    created_at: toIso(invoice.created_at),
    order_id: invoice.order_id,
    description: invoice.description,
    metadata: invoice.metadata,
    payment: payment ? presentPayment(invoice, payment) : { status: null },
  };
}
