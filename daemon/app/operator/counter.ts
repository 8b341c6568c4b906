/** The counter of a shop: sales are invoices made by hand, with any amount that can be paid. */
import type { Asset } from '../../domain/assets.ts';
import { FIAT } from '../../domain/currencies.ts';
import { Rejected } from '../../domain/errors.ts';
import { FIAT_DECIMALS, parseDecimal } from '../../domain/money.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import { paymentOf } from '../../store/queries/invoices.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { withAddress } from '../addresses/pool.ts';
import type { App } from '../app.ts';
import { createInvoice, decideInvoice, findInvoice } from '../invoices/invoices.ts';
import { changeCoin, requestPayment } from '../invoices/payments.ts';
import { paymentUri } from '../invoices/uri.ts';
import { type InvoiceView, readInvoice } from '../invoices/views.ts';
import type { Business } from '../shops/directory.ts';
import { listInvoices } from './invoices.ts';

const SALES_SHOWN = 6;
/** The number of newest invoices that are searched for sales. */
const SALES_AMONG = 100;

type ByHand = {
  /** A decimal of the currency's main unit. */
  amount: string;
  currency: string;
  crypto: string;
  orderId: string | null;
  description: string | null;
  origin: 'operator' | 'counter';
};

/** Makes an invoice by hand. Throws `Rejected('validation')` for a wrong amount or currency, and as `createInvoice`. */
export function makeByHand(app: App, tx: Tx, business: Business, sale: ByHand): InvoiceRow {
  const decimals = FIAT[sale.currency];
  if (decimals === undefined) throw new Rejected('validation', `There is no currency ${sale.currency}.`, 'currency');
  const amount = parseDecimal(sale.amount, decimals);
  if (amount === null || amount === 0n) {
    throw new Rejected('validation', `The amount has at most ${decimals} decimals and is above 0.`, 'amount');
  }
  const scaled = amount * 10n ** BigInt(FIAT_DECIMALS - decimals);
  const rest = { dueAt: null, closeUrl: null, redirectUrl: null, webhookUrl: null, automaticRedirect: false };
  return createInvoice(app, business, { ...sale, ...rest, amount: scaled }, tx);
}

/** The coins of a business, and whether payers are offered them now. */
export function coinsOf(app: App, business: Business): { asset: Asset; ready: boolean }[] {
  return business.enabled.map((asset) => {
    const chain = app.chains.find(`${business.network}:${asset.chain}`);
    const rate = app.rates.rate(business.network, asset.symbol, 'USD', app.now());
    return { asset, ready: rate !== null && chain !== undefined && chain.withheld(app.now()) === null };
  });
}

export async function salesOf(app: App, business: Business): Promise<InvoiceView[]> {
  const filter = { business, status: null, orderId: null, limit: SALES_AMONG, before: null };
  const { lines } = await listInvoices(app, filter);
  const sales = lines.filter(({ invoice }) => invoice.origin === 'counter').slice(0, SALES_SHOWN);
  return Promise.all(sales.map(({ invoice }) => readInvoice(app, business, invoice.slug)));
}

export type Sale = { view: InvoiceView; code: string };

/** The counter's invoice. Throws `Rejected('invoice.not_found')` for every other one. */
export function findSale(reader: Reader, slug: string): InvoiceRow {
  const invoice = findInvoice(reader, slug);
  if (invoice.origin !== 'counter') throw new Rejected('invoice.not_found', 'Invoice not found', 'invoice');
  return invoice;
}

/** Asks for an invoice's payment in a coin. Throws `Rejected` and `Unavailable` as `requestPayment` and `changeCoin`. */
export async function chooseCoin(app: App, { id, business_id, slug }: InvoiceRow, crypto: string): Promise<void> {
  const business = app.directory.business(business_id);
  const payment = app.store.get(paymentOf, { invoice_id: id });
  if (payment?.asset === crypto) return;
  await withAddress(app, (tx, waited) =>
    payment
      ? changeCoin(app, business, findInvoice(tx, slug), crypto, tx, waited)
      : requestPayment(app, business, findInvoice(tx, slug), () => crypto, tx, waited),
  );
}

/** A sale with its code. `crypto`: the coin of the code. Throws as `findSale`. */
export async function saleOf(app: App, slug: string, crypto: string | undefined): Promise<Sale> {
  const { business_id } = findSale(app.store, slug);
  const view = await readInvoice(app, app.directory.business(business_id), slug);
  return { view, code: codeOf(app, view, crypto) };
}

/**
 * The payment of a coin, to whom the payment page would show it, too. Otherwise the payment link, on which the customer chooses, or sees
 * that the price ended or that nothing is to be paid.
 */
function codeOf(app: App, { invoice, payment }: InvoiceView, crypto: string | undefined): string {
  const isPayable = invoice.status === 'unpaid' && payment && !payment.quoteEnded && payment.remaining > 0n;
  if (!isPayable || payment.asset.symbol !== crypto) return `${app.publicUrl}/pay/${invoice.slug}`;
  return paymentUri(payment.asset, payment.row.address, payment.remaining) ?? payment.row.address;
}

/** Cancels a sale of the counter, no other invoice. Throws `Rejected('invoice.not_found')`. */
export async function cancelSale(app: App, slug: string): Promise<void> {
  await app.store.write((tx) => {
    decideInvoice(app, findSale(tx, slug), 'cancel', tx);
  });
}
