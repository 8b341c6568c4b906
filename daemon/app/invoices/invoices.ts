/** Creates, finds, deletes and decides invoices. */
import { randomUUIDv7 } from 'node:crypto';
import { type Asset, findAsset, INVOICE_SYMBOLS } from '../../domain/assets.ts';
import { endOfMonth } from '../../domain/calendar.ts';
import { FIAT } from '../../domain/currencies.ts';
import { Rejected, Unavailable } from '../../domain/errors.ts';
import { divideUp, dollarsFor, FIAT_DECIMALS, maxOf, minOf } from '../../domain/money.ts';
import type { Decision } from '../../domain/payment.ts';
import {
  type InvoiceRow,
  insertInvoice,
  invoiceById,
  invoiceByUuid,
  invoicesToCheck,
  paymentOf,
  setInvoiceCheck,
  setInvoiceDeleted,
  setInvoiceStatus,
} from '../../store/queries/invoices.ts';
import { insertInvoiceLately } from '../../store/queries/listed.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { type App, graceMs } from '../app.ts';
import { followSale } from '../links/stock.ts';
import { tellInvoice } from '../notifications/news.ts';
import { queueWebhook } from '../notifications/webhooks.ts';
import { refuseWrongClock } from '../recovery/clock.ts';
import { noteClient, releaseAddress } from '../shops/clients.ts';
import { cryptoRejected } from '../shops/cryptos.ts';
import type { Business } from '../shops/directory.ts';
import { hasFundsUnderWay, settleInvoice } from './settle.ts';
import { invoiceNamed, nextInvoice } from './slugs.ts';

const USD_1 = 100_000_000n;
const INVOICE_USD_MIN = 10n * USD_1;
const BY_HAND_USD_MIN = USD_1 / 100n;
const TOLERANCE_USD_MAX = 5n * USD_1;
/** The value of each deposit is rounded down: a payer who sends the exact amount in parts owes nothing. 1e-8 of the currency. */
const TOLERANCE_MIN = 1_000n;
const PPM = 1_000_000n;
const RATE_RETRY_SECONDS = 60;
const UNPAID_CHECKED_PER_RUN_MAX = 1_000;

export type NewInvoice = {
  /** Fiat, 1e-8. */
  amount: bigint;
  currency: string;
  /** A symbol that the contract lists, or ALL. */
  crypto: string;
  /** Null: the last day of the current month. Milliseconds since 1970. */
  dueAt: number | null;
  closeUrl: string | null;
  redirectUrl: string | null;
  webhookUrl: string | null;
  automaticRedirect: boolean;
  /** `operator`, `counter`: made by hand; `link`: on a payment link, whose prices the merchant set. For these a cent is enough. */
  origin: 'merchant' | 'client' | 'operator' | 'counter' | 'link';
  /** The client ID that made it, for invoices of browsers; of a link, `linksOfBusinessAsClient`. */
  clientId?: number;
  /** The shop's order id and description, shown to the payer. */
  orderId?: string | null;
  description?: string | null;
  /** The shop's own data, never shown to payers. */
  metadata?: Readonly<Record<string, string>> | null;
};

/** Whether a business makes invoices in this crypto: listed in the contract, and enabled. */
export function acceptsCrypto(app: App, business: Business, symbol: string): boolean {
  if (symbol === 'ALL') return true;
  const asset = findAsset(symbol);
  const listed = (INVOICE_SYMBOLS as readonly string[]).includes(symbol);
  return asset !== undefined && listed && app.directory.takes(business, asset.symbol);
}

export function cryptosFor(app: App, business: Business): string[] {
  return [...INVOICE_SYMBOLS, 'ALL'].filter((symbol) => acceptsCrypto(app, business, symbol));
}

/** An invoice's amount in dollars (1e-8, rounded down). Throws `Unavailable` without a rate. */
function inDollars(app: App, business: Business, amount: bigint, currency: string, now: number): bigint {
  return dollarsFor(amount, dollarIn(app, business, currency, now));
}

function dollarIn(app: App, business: Business, currency: string, now: number): bigint {
  const scaled = app.rates.perDollar(business.network, currency, now);
  if (scaled === null) throw new Unavailable(`No exchange rate for ${currency} at the moment`, RATE_RETRY_SECONDS);
  return scaled;
}

/**
 * The least amount of an invoice that a shop or a payer makes: 10 USD in 1e-8 of the currency, rounded up to the
 * decimals that an amount may have. Throws `Unavailable` if the currency has no rate.
 */
export function leastAmount(app: App, business: Business, currency: string): bigint {
  const step = 10n ** BigInt(FIAT_DECIMALS - FIAT[currency]!);
  const exact = divideUp(INVOICE_USD_MIN * dollarIn(app, business, currency, app.now()), USD_1);
  return divideUp(exact, step) * step;
}

/**
 * Creates an invoice. Throws `Rejected` for a wrong field or an amount below 10 USD, and `Unavailable` if its currency
 * has no rate, or while the machine's clock is wrong.
 */
export function createInvoice(app: App, business: Business, wanted: NewInvoice, tx: Tx): InvoiceRow {
  const now = app.now();
  refuseWrongClock(app, tx, 'New invoices');
  if (!acceptsCrypto(app, business, wanted.crypto)) {
    throw cryptoRejected(cryptosFor(app, business));
  }
  const dollars = inDollars(app, business, wanted.amount, wanted.currency, now);
  const byHand = ['operator', 'counter', 'link'].includes(wanted.origin);
  if (dollars < (byHand ? BY_HAND_USD_MIN : INVOICE_USD_MIN)) {
    const least = byHand ? '0.01' : '10';
    throw new Rejected('validation', `The amount must be at least the equivalent of ${least} USD.`, 'amount');
  }
  const tolerance = maxOf(
    minOf(
      (wanted.amount * app.config.payments.tolerancePercent.ppm) / PPM,
      (TOLERANCE_USD_MAX * dollarIn(app, business, wanted.currency, now)) / USD_1,
    ),
    TOLERANCE_MIN,
  );
  const dueAt = wanted.dueAt ?? endOfMonth(now, business.timeZone);
  const { id, slug } = nextInvoice(tx);
  const row = {
    id,
    uuid: randomUUIDv7(),
    slug,
    business_id: business.id,
    origin: wanted.origin,
    amount: wanted.amount,
    tolerance,
    currency: wanted.currency,
    crypto: wanted.crypto,
    status: 'unpaid' as const,
    due_at: dueAt,
    check_at: dueAt + graceMs(app),
    close_url: wanted.closeUrl,
    redirect_url: wanted.redirectUrl,
    webhook_url: wanted.webhookUrl,
    automatic_redirect: wanted.automaticRedirect,
    created_at: now,
    updated_at: now,
    order_id: wanted.orderId ?? null,
    description: wanted.description ?? null,
    metadata: wanted.metadata ?? null,
  };
  tx.run(insertInvoice, row);
  tx.run(insertInvoiceLately, row);
  if (wanted.clientId !== undefined) noteClient(tx, id, wanted.clientId);
  const invoice = { ...row, deleted_at: null, random_slug: false };
  tellInvoice(app, tx, invoice, 'invoice.created');
  return invoice;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The invoice with a slug or UUID. Throws `Rejected('invoice.not_found')` if there is none or it was deleted. */
export function findInvoice(reader: Reader, name: string): InvoiceRow {
  const row = UUID.test(name) ? reader.get(invoiceByUuid, { uuid: name.toLowerCase() }) : invoiceNamed(reader, name);
  if (!row || row.deleted_at !== null) throw new Rejected('invoice.not_found', 'Invoice not found');
  return row;
}

/** The same for one business; another's invoice is not found. */
export function findInvoiceOf(reader: Reader, business: Business, name: string): InvoiceRow {
  const row = findInvoice(reader, name);
  if (row.business_id !== business.id) throw new Rejected('invoice.not_found', 'Invoice not found');
  return row;
}

/**
 * Deletes an invoice. Throws `Rejected` if it is paid, has a pending payment, or money for it is on its way. Its
 * address stays watched; later money goes to the inbox.
 */
export function deleteInvoice(app: App, invoice: InvoiceRow, tx: Tx): void {
  if (invoice.status === 'paid') throw new Rejected('invoice.paid', 'Invoice has already been paid');
  const payment = tx.get(paymentOf, { invoice_id: invoice.id });
  if (payment && (payment.status === 'pending' || hasFundsUnderWay(tx, payment))) {
    throw new Rejected('invoice.pending', 'Invoice has a pending payment, cannot be deleted at this time');
  }
  tx.run(setInvoiceDeleted, { id: invoice.id, deleted_at: app.now() });
  tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
  releaseAddress(tx, invoice);
  if (payment && invoice.status === 'unpaid') settleInvoice(app, tx, invoice.id, { decision: 'cancel' });
}

/** Executes an operator's decision. Throws `Rejected('invoice.not_unpaid')` if it is too late. */
export function decideInvoice(app: App, invoice: InvoiceRow, decision: Decision, tx: Tx): void {
  const current = tx.get(invoiceById, { id: invoice.id });
  if (current?.status !== 'unpaid') {
    throw new Rejected('invoice.not_unpaid', `The invoice is ${current?.status ?? 'gone'} already`);
  }
  if (tx.get(paymentOf, { invoice_id: invoice.id })) {
    settleInvoice(app, tx, invoice.id, { decision });
    return;
  }
  const status = decision === 'cancel' ? 'canceled' : 'paid';
  tx.afterCommit(() => app.invoiceSubscribers.changed(invoice.id));
  tx.run(setInvoiceStatus, { id: invoice.id, status, updated_at: app.now() });
  followSale(tx, invoice, status);
  if (status === 'paid') queueWebhook(app, tx, current);
  tellInvoice(app, tx, { ...current, status }, `invoice.${status}`);
}

/**
 * Cancels invoices without a requested payment after their grace, by the clock alone, because they depend on no chain.
 * Returns how many were checked.
 */
export function cancelForgotten(app: App, tx: Tx): number {
  const rows = tx.all(invoicesToCheck, { now: app.chains.credibleNow(app.now()), limit: UNPAID_CHECKED_PER_RUN_MAX });
  for (const row of rows) {
    const waits = row.status === 'unpaid' && tx.get(paymentOf, { invoice_id: row.id }) === undefined;
    if (!waits) {
      tx.run(setInvoiceCheck, { id: row.id, check_at: null });
      continue;
    }
    tx.run(setInvoiceStatus, { id: row.id, status: 'canceled', updated_at: app.now() });
    tx.afterCommit(() => app.invoiceSubscribers.changed(row.id));
    tellInvoice(app, tx, { ...row, status: 'canceled' }, 'invoice.canceled');
  }
  return rows.length;
}

/** The asset of an invoice with a fixed crypto; null: the payer chooses, or the asset is unknown. */
export function fixedAsset(invoice: InvoiceRow): Asset | null {
  return invoice.crypto === 'ALL' ? null : (findAsset(invoice.crypto) ?? null);
}
