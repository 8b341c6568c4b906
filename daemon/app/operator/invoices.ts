/** The operator's view of invoices: lists, and all data of one. */
import { type Decision, INVOICE_STATUSES, type InvoiceGroup, type InvoiceStatus } from '../../domain/payment.ts';
import { inTurns } from '../../kit/async.ts';
import { absenceOf } from '../../store/queries/absence.ts';
import type { CreditRow } from '../../store/queries/credits.ts';
import { type WebhookAttemptRow, type WebhookRow, webhookOf } from '../../store/queries/effects.ts';
import { type InvoiceRow, invoiceById, type PaymentRow, paymentOf } from '../../store/queries/invoices.ts';
import { listedBehind, oldestListedSince, paidBetween } from '../../store/queries/listed.ts';
import {
  countBetween,
  countUnpaid,
  expiredBetween,
  invoicesBetween,
  invoicesOfStatus,
  newestAttemptsOf,
  newestCreditsOf,
  newestInvoiceId,
  shortBetween,
  sliceOfStatus,
  undecidedInvoices,
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
import { listUnpaid, type UnpaidSlice, unpaidSlices } from './unpaid.ts';

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
  const newest = (store.get(newestInvoiceId, {})?.id ?? 0) + 1;
  if (!business) return { first: 1, end: newest };
  const since = { business_id: business.id, created_from: createdFrom ?? 0 };
  const behind = { business_id: business.id, from: 0, at: (createdTo ?? 0) + 1, id: 0, limit: 1 };
  const first = createdFrom === null ? 1 : (store.get(oldestListedSince, since)?.id ?? newest);
  return { first, end: createdTo === null ? newest : (store.get(listedBehind, behind)?.id ?? 0) + 1 };
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
    const below = filter.before ?? Number.MAX_SAFE_INTEGER;
    const rows =
      status === 'unpaid'
        ? await listUnpaid(store, business.id, below, limit)
        : store.all(invoicesOfStatus, { business_id: business.id, status, below, limit });
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

/** Whether the time to pay ended without money, as the statement of the group `expired` has it. */
export function hasExpired(
  { status, updated_at: at, due_at: due }: InvoiceRow,
  payment: Pick<PaymentRow, 'deadline_at' | 'status' | 'received'> | undefined,
): boolean {
  if (status === 'canceled') return at >= (payment?.deadline_at ?? due) && (payment?.received ?? 0n) === 0n;
  return status === 'unpaid' && payment?.status === 'overdue' && payment.received === 0n;
}

/** The highest number of invoices that a count or a sum looks at. */
export const INVOICES_COUNTED_MAX = 10_000;

const COUNTED_PER_SLICE = 500;

type Decided = Exclude<InvoiceStatus, 'unpaid'>;

/** The newest invoices of a status as ranges of ids, `INVOICES_COUNTED_MAX` at the most. Other requests run between them. */
async function* slicesOf(store: Reader, { id: business_id }: Business, status: Decided) {
  let below = Number.MAX_SAFE_INTEGER;
  for (let counted = 0; counted < INVOICES_COUNTED_MAX; counted += COUNTED_PER_SLICE) {
    const slice = store.get(sliceOfStatus, { business_id, status, below, limit: COUNTED_PER_SLICE });
    if (!slice || slice.from === null) return;
    yield { business_id, status, from: slice.from, below };
    if (slice.n < COUNTED_PER_SLICE) return;
    below = slice.from;
    await new Promise(setImmediate);
  }
}

/** The same of those that are unpaid; the last range may go beyond that number. */
async function openSlices(store: Reader, { id }: Business): Promise<UnpaidSlice[]> {
  const slices: UnpaidSlice[] = [];
  let counted = 0;
  for await (const slice of unpaidSlices(store, id, Number.MAX_SAFE_INTEGER)) {
    slices.push(slice);
    counted += slice.n;
    if (counted >= INVOICES_COUNTED_MAX) break;
  }
  return slices;
}

/** The ids of the invoices whose money waits for somebody: a part came, or the inbox has some of it. Newest first. */
async function waitingFor(store: Reader, business: Business, open: readonly UnpaidSlice[]): Promise<number[]> {
  const found = new Set<number>();
  for await (const slice of inTurns(open)) {
    for (const { id } of store.all(shortBetween, slice)) found.add(id);
  }
  const asked = { business_id: business.id, limit: INVOICES_COUNTED_MAX };
  for (const { id } of store.all(undecidedInvoices, asked)) found.add(id);
  return [...found].sort((a, b) => b - a);
}

/** A page of one group of a business's invoices, as `listInvoices` has pages of all. */
export async function listGroup(
  app: App,
  business: Business,
  { only, limit, before }: { only: InvoiceGroup; limit: number; before: number | null },
): Promise<{ lines: InvoiceLine[]; next: number | null }> {
  const { store } = app;
  if (only === 'needs-you') {
    const below = before ?? Number.MAX_SAFE_INTEGER;
    const waiting = await waitingFor(store, business, await openSlices(store, business));
    const ids = waiting.filter((id) => id < below);
    const shown = ids.slice(0, limit);
    const lines = shown.flatMap((id) => store.get(invoiceById, { id }) ?? []).map((invoice) => lineOf(app, invoice));
    return { lines, next: ids.length > limit ? (shown.at(-1) ?? null) : null };
  }
  let below = Math.min(before ?? Number.MAX_SAFE_INTEGER, (store.get(newestInvoiceId, {})?.id ?? 0) + 1);
  const last = Math.max(1, below - INVOICES_SCANNED_MAX);
  const rows: InvoiceRow[] = [];
  while (below > last && rows.length < limit) {
    const from = Math.max(last, below - INVOICES_PER_SLICE);
    rows.push(...store.all(expiredBetween, { from, below, business_id: business.id, limit: limit - rows.length }));
    below = rows.length === limit ? (rows.at(-1)?.id ?? from) : from;
    await new Promise(setImmediate);
  }
  return { lines: rows.map((invoice) => lineOf(app, invoice)), next: below > 1 ? below : null };
}

export type Counts = Record<InvoiceStatus | InvoiceGroup, number>;

/** How many invoices of a business each state and group has, counted up to `INVOICES_COUNTED_MAX`. Other requests run between its parts. */
export async function countInvoices({ store }: App, business: Business): Promise<Counts> {
  const open = await openSlices(store, business);
  const waiting = await waitingFor(store, business, open);
  const counts: Counts = { unpaid: 0, paid: 0, canceled: 0, expired: 0, 'needs-you': waiting.length };
  const add = (status: InvoiceStatus, found: { n: number; expired: number } | undefined): void => {
    counts[status] += found?.n ?? 0;
    counts.expired += found?.expired ?? 0;
  };
  for await (const slice of inTurns(open)) add('unpaid', store.get(countUnpaid, slice));
  for (const status of INVOICE_STATUSES) {
    if (status === 'unpaid') continue;
    for await (const slice of slicesOf(store, business, status)) add(status, store.get(countBetween, slice));
  }
  return counts;
}

/** The sum of each currency of the paid invoices that were made between two times, in 1e-8. */
export function sumInvoices(
  { store }: App,
  { id }: Business,
  from: number,
  to: number,
): { payments: number; amounts: { currency: string; amount: bigint }[]; whole: boolean } {
  const rows = store.all(paidBetween, { business_id: id, from, to, limit: INVOICES_COUNTED_MAX });
  const sums = new Map<string, bigint>();
  for (const { currency, amount } of rows) sums.set(currency, (sums.get(currency) ?? 0n) + amount);
  const amounts = [...sums].map(([currency, amount]) => ({ currency, amount }));
  return { payments: rows.length, amounts, whole: rows.length < INVOICES_COUNTED_MAX };
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
