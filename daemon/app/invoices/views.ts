/** An invoice as its readers see it, with a new quote if one is needed. Reading never fails for lack of a rate. */
import { type Asset, assetOf, confirmationsFor } from '../../domain/assets.ts';
import { shownTransaction } from '../../domain/chain.ts';
import { shownRequired } from '../../domain/finality.ts';
import { dollarsFor } from '../../domain/money.ts';
import { FLAG } from '../../domain/payment.ts';
import { remainingUnits } from '../../domain/quote.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type InvoiceRow, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { type App, graceMs } from '../app.ts';
import { madeByAnybody } from '../shops/clients.ts';
import type { Business } from '../shops/directory.ts';
import { findInvoice, findInvoiceOf } from './invoices.ts';
import { creditsFor, sendable } from './payment-targets.ts';
import { needsQuote, refreshQuote } from './payments.ts';
import { refundedUnits } from './refunded.ts';
import { isEnough } from './settle.ts';

const TRANSACTIONS_SHOWN_MAX = 100;

export type PaymentView = {
  row: PaymentRow;
  asset: Asset;
  /** Units. */
  amount: bigint;
  received: bigint;
  confirmed: bigint;
  /** The sum of the refunds whose transactions have a confirmation. */
  refunded: bigint;
  remaining: bigint;
  /** The confirmations of the transaction that lacks the most; 0 while there is no transaction. */
  confirmations: number;
  required: number;
  /** The asset of that transaction. */
  waitsFor: Asset;
  /** True if the quote has ended and no new one could be made. Payers are not shown the address then. */
  quoteEnded: boolean;
  underpaid: boolean;
  overpaid: boolean;
  late: boolean;
  /** A reorganisation removed the payment of the invoice. */
  undone: boolean;
  /** A part of the received money has no value yet for lack of a rate. */
  unvalued: boolean;
  /** Those that count for the invoice, each in its own asset. */
  transactions: { txid: string; internal: boolean; asset: Asset; units: bigint; confirmations: number }[];
};

export type InvoiceView = { invoice: InvoiceRow; business: Business; payment: PaymentView | null };

/** The invoice of a slug or UUID; with `business`, only that one's. Throws `Rejected('invoice.not_found')`. */
export async function readInvoice(app: App, business: Business | null, name: string): Promise<InvoiceView> {
  const find = (): InvoiceRow => (business ? findInvoiceOf(app.store, business, name) : findInvoice(app.store, name));
  const invoice = find();
  if (madeByAnybody(invoice)) app.holds.look(invoice.id);
  const owner = business ?? app.directory.business(invoice.business_id);
  const payment = app.store.get(paymentOf, { invoice_id: invoice.id });
  if (payment && needsQuote(invoice, payment, payment.deadline_at + graceMs(app), app.now())) {
    await app.store.write((tx) => refreshQuote(app, owner, invoice.id, tx));
    return view(app, owner, find(), app.store.get(paymentOf, { invoice_id: invoice.id }));
  }
  return view(app, owner, invoice, payment);
}

/** The view of rows that were read already. */
export function view(app: App, business: Business, invoice: InvoiceRow, row: PaymentRow | undefined): InvoiceView {
  return { invoice, business, payment: row ? paymentView(app, business, invoice, row) : null };
}

function paymentView(app: App, business: Business, invoice: InvoiceRow, row: PaymentRow): PaymentView {
  const asset = assetOf(row.asset);
  const received = row.received;
  const isUnknown = (credit: CreditRow): boolean => credit.value === null && credit.asset !== row.asset;
  const done = invoice.status !== 'unpaid' || isEnough(invoice, row);
  const seen = received === 0n && row.changes === 0 ? [] : creditsFor(app.store, row);
  const credits = seen.slice(-TRANSACTIONS_SHOWN_MAX);
  const depths = credits.map(
    ({ chain_key, block_height }) => app.chains.find(chain_key)?.confirmations(block_height) ?? 0,
  );
  const needed = credits.map((credit, i) => shownRequired(credit, depths[i]!));
  const rest = remainingUnits(row.quote_amount, received, done || seen.some(isUnknown));
  let furthest = 0;
  credits.forEach((_, i) => {
    if (needed[i]! - depths[i]! > needed[furthest]! - depths[furthest]!) furthest = i;
  });
  return {
    row,
    asset,
    amount: row.quote_amount,
    received,
    confirmed: row.confirmed,
    refunded: refundedUnits(app.store, invoice, row),
    // no further amount is requested until the value of the money in another coin is known
    remaining: rest === 0n ? rest : sendable(app, row, rest),
    confirmations: depths[furthest] ?? 0,
    waitsFor: assetOf(credits[furthest]?.asset ?? row.asset),
    required: needed[furthest] ?? expectedConfirmations(app, business, invoice, asset),
    quoteEnded: !done && app.now() >= row.quote_ends_at,
    underpaid: (row.flags & FLAG.underpaid) !== 0,
    overpaid: (row.flags & FLAG.overpaid) !== 0,
    late: (row.flags & FLAG.late) !== 0,
    undone: (row.flags & FLAG.undone) !== 0,
    unvalued: credits.some(({ value }) => value === null),
    transactions: credits.map((credit, i) => ({
      ...named(credit),
      asset: assetOf(credit.asset),
      units: credit.units,
      confirmations: depths[i]!,
    })),
  };
}

function named(credit: CreditRow): { txid: string; internal: boolean } {
  const { tx_id: txid, internal = false } = shownTransaction(credit);
  return { txid, internal };
}

/** The confirmations that one transaction needs if it pays the whole invoice. */
export function expectedConfirmations(app: App, business: Business, invoice: InvoiceRow, asset: Asset): number {
  const perDollar = app.rates.perDollar(business.network, invoice.currency, app.now());
  const dollars = perDollar === null ? null : dollarsFor(invoice.amount, perDollar);
  const required = confirmationsFor(app.config.networks[business.network][asset.symbol].confirmations, dollars);
  return shownRequired({ required, confirmed: false, asset: asset.symbol }, 0);
}
