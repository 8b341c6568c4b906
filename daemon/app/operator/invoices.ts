/** The operator's view of invoices: lists, and all data of one. */
import type { Decision, InvoiceStatus } from '../../domain/payment.ts';
import { absenceOf } from '../../store/queries/absence.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type WebhookAttemptRow, type WebhookRow, webhookOf } from '../../store/queries/effects.ts';
import { type InvoiceRow, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import {
  invoicesBetween,
  invoicesOfStatus,
  newestAttemptsOf,
  newestCreditsOf,
  newestInvoice,
  newestInvoiceUntil,
  oldestInvoiceSince,
} from '../../store/queries/operator.ts';
import { newestRefundsOf, type WithdrawalRow } from '../../store/queries/withdrawals.ts';
import type { Row } from '../../store/schema.ts';
import type { Reader } from '../../store/store.ts';
import type { App } from '../app.ts';
import { decideInvoice, findInvoice } from '../invoices/invoices.ts';
import { targetsOf } from '../invoices/payment-targets.ts';
import { type InvoiceView, view } from '../invoices/views.ts';
import type { Business } from '../shops/directory.ts';
import { findAnyInvoice } from './find.ts';

/** The maximum number of invoices that one call reads, for filters with few matches. */
export const INVOICES_SCANNED_MAX = 10_000;
/** Other requests are served between two slices. */
const INVOICES_PER_SLICE = 2_000;
const CREDITS_SHOWN_MAX = 100;
const ATTEMPTS_SHOWN_MAX = 20;

export type InvoiceFilter = {
  business: Business | null;
  status: InvoiceStatus | null;
  orderId: string | null;
  /** Of its payment. */
  asset?: string | null;
  /** When it was made, both included; milliseconds since 1970. */
  createdFrom?: number | null;
  createdTo?: number | null;
  limit: number;
  /** Only invoices with a lower id. */
  before: number | null;
};

export const lineOf = ({ store }: App, invoice: InvoiceRow): InvoiceLine => ({
  invoice,
  payment: store.get(paymentOf, { invoice_id: invoice.id }),
});

export type InvoiceLine = { invoice: InvoiceRow; payment: PaymentRow | undefined };

/**
 * The ids among which matching invoices are, the second excluded. By the times at both ends; a clock that was set back
 * between them costs only invoices that it dated outside of them.
 */
function idsOf(store: Reader, { business, createdFrom = null, createdTo = null }: InvoiceFilter) {
  const newest = (store.get(newestInvoice, {})?.id ?? 0) + 1;
  if (!business) return { first: 1, end: newest };
  const since = { business_id: business.id, created_from: createdFrom ?? 0 };
  const until = { business_id: business.id, created_to: createdTo ?? 0 };
  const first = createdFrom === null ? 1 : (store.get(oldestInvoiceSince, since)?.id ?? newest);
  return { first, end: createdTo === null ? newest : (store.get(newestInvoiceUntil, until)?.id ?? 0) + 1 };
}

/** The newest matching invoices, without deleted ones, and the beginning of the next page or null. */
export async function listInvoices(
  app: App,
  filter: InvoiceFilter,
): Promise<{ lines: InvoiceLine[]; next: number | null }> {
  const { store } = app;
  const { business, status, orderId, limit, asset = null, createdFrom = null, createdTo = null } = filter;
  const isPlain = orderId === null && asset === null && createdFrom === null && createdTo === null;
  if (business && status && isPlain) {
    const rows = store.all(invoicesOfStatus, {
      business_id: business.id,
      status,
      below: filter.before ?? Number.MAX_SAFE_INTEGER,
      limit,
    });
    const lines = rows.map((invoice) => lineOf(app, invoice));
    return { lines, next: rows.length === limit ? (rows.at(-1)?.id ?? null) : null };
  }
  const { first, end } = idsOf(store, filter);
  let below = Math.min(filter.before ?? Number.MAX_SAFE_INTEGER, end);
  const last = Math.max(first, below - INVOICES_SCANNED_MAX);
  const rows: InvoiceRow[] = [];
  while (below > last && rows.length < filter.limit) {
    const from = Math.max(last, below - INVOICES_PER_SLICE);
    const slice = store.all(invoicesBetween, {
      from,
      below,
      business_id: filter.business?.id ?? null,
      status: filter.status,
      order_id: filter.orderId,
      asset,
      created_from: createdFrom ?? 0,
      created_to: createdTo ?? Number.MAX_SAFE_INTEGER,
      limit: filter.limit - rows.length,
    });
    rows.push(...slice);
    // a full page may leave matching rows of this slice for the next page
    below = rows.length === filter.limit ? (rows.at(-1)?.id ?? from) : from;
    await new Promise(setImmediate);
  }
  return { lines: rows.map((invoice) => lineOf(app, invoice)), next: below > first ? below : null };
}

export type WebhookView = { webhook: WebhookRow; attempts: WebhookAttemptRow[] };

/** A notification with its newest attempts, the oldest first. */
export function webhookView(reader: Reader, webhook: WebhookRow): WebhookView {
  const attempts = reader.all(newestAttemptsOf, { webhook_id: webhook.id, limit: ATTEMPTS_SHOWN_MAX });
  return { webhook, attempts: attempts.reverse() };
}

export type InvoiceDetails = InvoiceView & {
  credits: CreditRow[];
  refunds: WithdrawalRow[];
  webhook: WebhookView | null;
  absence: Row<'absence'> | undefined;
};

/** All data of an invoice, even a deleted one. Makes no quote. Throws `Rejected('invoice.not_found')`. */
export function showInvoice(app: App, ref: string): InvoiceDetails {
  const { store } = app;
  const invoice = findAnyInvoice(store, ref);
  const payment = store.get(paymentOf, { invoice_id: invoice.id });
  const webhook = store.get(webhookOf, { invoice_id: invoice.id });
  const credits = payment
    ? targetsOf(store, payment)
        .flatMap(({ target_id }) => store.all(newestCreditsOf, { target_id, limit: CREDITS_SHOWN_MAX }))
        .sort((a, b) => a.id - b.id)
    : [];
  return {
    ...view(app, app.directory.business(invoice.business_id), invoice, payment),
    credits,
    refunds: store.all(newestRefundsOf, { invoice_id: invoice.id, limit: CREDITS_SHOWN_MAX }).reverse(),
    webhook: webhook ? webhookView(store, webhook) : null,
    absence: store.get(absenceOf, { invoice_id: invoice.id }),
  };
}

/** Cancels an invoice or marks it paid. Throws `Rejected`: `invoice.not_found`, `invoice.not_unpaid`. */
export async function decide(app: App, ref: string, decision: Decision): Promise<InvoiceDetails> {
  await app.store.write((tx) => decideInvoice(app, findInvoice(tx, ref), decision, tx));
  return showInvoice(app, ref);
}
