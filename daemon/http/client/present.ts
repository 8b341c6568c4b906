/** The browser API's answers: only what a payer may see of an invoice. */
import type { App } from '../../app/app.ts';
import type { InvoiceView, PaymentView } from '../../app/invoices/views.ts';
import type { Business } from '../../app/shops/directory.ts';
import { formatUnits } from '../../domain/money.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import type { Answer } from '../answers.ts';
import { exactNumber } from '../json.ts';
import { presentInvoice, presentPayment } from '../merchant/present.ts';

/** The payment resource, without the address if nothing may be sent to it because its price has expired. */
export function presentPayersPayment(invoice: InvoiceRow, payment: PaymentView): Answer<'PayersPayment'> {
  const { address, ...rest } = presentPayment(invoice, payment);
  const withheld = invoice.status === 'canceled' || payment.quoteEnded;
  return withheld ? rest : { ...rest, address };
}

/** The answer of getInvoice, without the notification URL and the metadata, which are the shop's. */
export function presentPayersInvoice(app: App, found: InvoiceView): Answer<'PayersInvoice'> {
  const { invoice, payment } = found;
  const { payment: _, metadata: __, ...rest } = presentInvoice(app, found);
  return {
    ...rest,
    close_url: invoice.close_url,
    redirect_url: invoice.redirect_url,
    automatic_redirect: invoice.automatic_redirect,
    ...(payment ? { payment: presentPayersPayment(invoice, payment) } : {}),
  };
}

/** The answer of getInvoiceStatus: always the same fields, null without a payment. */
export function presentStatus({ invoice, payment }: InvoiceView): Answer<'InvoiceStatus'> {
  return {
    status: invoice.status,
    payment_status: payment?.row.status ?? null,
    received: payment ? formatUnits(payment.received, payment.asset) : null,
    remaining: payment ? formatUnits(payment.remaining, payment.asset) : null,
    confirmations: payment?.confirmations ?? null,
    required_confirmations: payment?.required ?? null,
  };
}

/** The value of one coin of each enabled crypto as exact numbers, without coins that have no rate now. */
export function presentRates(app: App, business: Business) {
  const entries = business.enabled.map(({ symbol }) => {
    const known = Object.entries(app.rates.shownKnown(business.network, symbol, app.now()));
    return [symbol, Object.fromEntries(known.map(([fiat, decimal]) => [fiat, exactNumber(decimal)]))] as const;
  });
  return Object.fromEntries(entries.filter(([, rates]) => Object.keys(rates).length > 0));
}
