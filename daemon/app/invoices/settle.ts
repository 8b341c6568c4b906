/** Updates an invoice's stored state by its facts, with all effects, inside the caller's transaction. */
import { type Asset, assetOf, type Network } from '../../domain/assets.ts';
import { assert, present } from '../../domain/errors.ts';
import type { InvoiceNews } from '../../domain/merchant.ts';
import { message } from '../../domain/messages.ts';
import { fiatFor, maxOf } from '../../domain/money.ts';
import {
  amountNeeded,
  type CreditFact,
  type Decision,
  FLAG,
  type InboxReason,
  isCrumb,
  isSilent,
  type Settlement,
  settle,
  type Terms,
  type Verdict,
} from '../../domain/payment.ts';
import { roundedUpAt } from '../../domain/quote.ts';
import {
  arrivedCredits,
  type CreditRow,
  creditUnderWay,
  deleteInboxItem,
  insertInboxItem,
  payingCreditAfter,
  setClaim,
} from '../../store/queries/credits.ts';
import {
  type InvoiceRow,
  invoiceById,
  type PaymentRow,
  paymentOf,
  setFormerTargetsOpen,
  setInvoiceStatus,
  updatePayment,
} from '../../store/queries/invoices.ts';
import { inboxOfCredit } from '../../store/queries/policies.ts';
import { refundLinksOfDeposit } from '../../store/queries/refund-links.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import { type App, graceMs } from '../app.ts';
import { fiatValue } from '../chains/valuation.ts';
import { followSale } from '../links/stock.ts';
import { tellInvoice } from '../notifications/news.ts';
import { queueWebhook } from '../notifications/webhooks.ts';
import { firstViews } from '../recovery/first-view.ts';
import { abandonedAt, releaseAddress } from '../shops/clients.ts';
import { fileOverpaid } from './overpaid.ts';
import { creditsFor, type PaymentTarget, returnToPaidCoin, sendable, targetsOf, unitsIn } from './payment-targets.ts';
import { whenVouched } from './vouched.ts';

/**
 * The maximum number of deposits that an invoice counts. Beyond CREDITS_PER_INVOICE_MAX it counts no crumbs, and none
 * beyond ANY_CREDITS_PER_INVOICE_MAX. The others go to the inbox.
 */
const CREDITS_PER_INVOICE_MAX = 100;
const ANY_CREDITS_PER_INVOICE_MAX = 1_000;
/** The maximum number of deposits that are summed for a reader of a canceled invoice. */
const ARRIVED_READ_MAX = 1_000;
/** The interval at which a payment that waits for another chain is checked. */
const OTHER_CHAIN_RETRY_MS = 60_000;
const UNDONE = 'invoice.undone';

/** Whether a deposit that is not stored yet may count for its invoice. */
export function mayCount(
  app: App,
  reader: Reader,
  network: Network,
  credit: Parameters<typeof fiatValue>[3] & { invoice_id: number; target_id: number },
): boolean {
  const { target_id } = credit;
  const holds = (count: number) => reader.get(payingCreditAfter, { target_id, skip: count - 1 }) !== undefined;
  if (!holds(CREDITS_PER_INVOICE_MAX)) return true;
  if (holds(ANY_CREDITS_PER_INVOICE_MAX)) return false;
  const value = fiatValue(app, reader, network, credit);
  const { amount } = present(reader.get(invoiceById, { id: credit.invoice_id }), 'invoice of a credit');
  return value === null || !isCrumb(value, amount);
}

/** A credit as a fact about a payment; one in another coin as the units that its value buys. */
function factOf(payment: PaymentRow, row: CreditRow): CreditFact {
  return {
    id: row.id,
    units: unitsIn(payment, payment.quote_rate, row),
    value: row.value,
    firstSeenAt: row.first_seen_at,
    confirmed: row.confirmed,
    claim: row.claim,
  };
}

/** The amounts that the addresses of a payment received, in smallest units of each asset, whatever happened to them since. */
export function arrived(reader: Reader, payment: PaymentRow): { asset: Asset; units: bigint }[] {
  return targetsOf(reader, payment).flatMap(({ target_id, asset }) => {
    const credits = reader.all(arrivedCredits, { target_id, asset, limit: ARRIVED_READ_MAX });
    const units = credits.reduce((sum, row) => sum + row.units, 0n);
    return units === 0n ? [] : [{ asset: assetOf(asset), units }];
  });
}

/** Whether unconfirmed money for a payment was seen. */
export function hasFundsUnderWay(reader: Reader, payment: PaymentRow): boolean {
  return targetsOf(reader, payment).some(
    ({ target_id, asset }) => reader.get(creditUnderWay, { target_id, asset }) !== undefined,
  );
}

/** Whether the seen money suffices for the invoice. */
export function isEnough(invoice: InvoiceRow, payment: PaymentRow): boolean {
  const terms = { amount: invoice.amount, tolerance: invoice.tolerance };
  return payment.seen_value >= amountNeeded(terms);
}

type SettleOptions = {
  decision?: Decision;
  /** Up to when deadlines count on the payment's chain, milliseconds since 1970; by default as its last sync had it. */
  deadlinesUntil?: number;
  /** True if the operator has just accepted a deposit: that a paid invoice has too much by it needs no further decision. */
  accepted?: boolean;
};

/** The most that the payer was asked for beyond what was owed, fiat 1e-8: by a quote, or as the least that can be sent. */
function roundedUp(app: App, payment: PaymentRow): bigint {
  const asset = assetOf(payment.asset);
  const { quote_rate: rate } = payment;
  return maxOf(roundedUpAt(asset, rate), fiatFor(sendable(app, payment, 0n), asset, rate));
}

/** Settles the invoice by its facts, and by the operator's decision if there is one. */
export function settleInvoice(app: App, tx: Tx, invoiceId: number, options: SettleOptions = {}): void {
  const { decision = null } = options;
  const invoice = tx.get(invoiceById, { id: invoiceId });
  const stored = tx.get(paymentOf, { invoice_id: invoiceId });
  assert(invoice && stored, `invoice ${invoiceId} has a payment to settle`);
  tx.afterCommit(() => app.invoiceSubscribers.changed(invoiceId));
  const credits = creditsFor(tx, stored);
  const ownUntil = options.deadlinesUntil ?? deadlinesUntil(app, stored);
  // a payment expires only after each chain on which it may be paid was synced past the deadline
  const others = targetsOf(tx, stored).filter(({ chain_key }) => chain_key !== stored.chain_key);
  const until = Math.min(ownUntil, ...others.map((target) => deadlinesUntil(app, target)));
  const payment = returnToPaidCoin(app, tx, invoice, stored, credits);
  const marked = decision === 'mark-paid' || (payment.flags & FLAG.markedPaid) !== 0;
  const terms: Terms = {
    invoice: invoice.status,
    payment: payment.status,
    undone: (payment.flags & FLAG.undone) !== 0,
    markedPaid: marked,
    amount: invoice.amount,
    tolerance: invoice.tolerance,
    roundedUp: roundedUp(app, payment),
    deadlineAt: payment.deadline_at,
    abandonedAt: abandonedAt(invoice, payment.quote_ends_at),
  };
  const facts = credits.map((row) => factOf(payment, row));
  const decide = (deadlinesUntil: number): Settlement =>
    settle(terms, { graceMs: graceMs(app) }, facts, deadlinesUntil, decision);
  const result = whenVouched(app, tx, stored, until, decide);
  if (result.checkAt !== null && until < ownUntil) {
    result.checkAt = Math.max(result.checkAt, ownUntil + OTHER_CHAIN_RETRY_MS);
  }
  const news = writePayment(app, tx, payment, result, marked);
  if (result.invoice !== invoice.status) {
    if (payment.changes > 0) tx.run(setFormerTargetsOpen, { invoice_id: invoice.id, open: false });
    tx.run(setInvoiceStatus, { id: invoice.id, status: result.invoice, updated_at: app.now() });
    if (result.invoice !== 'unpaid') news.push(`invoice.${result.invoice}`);
    releaseAddress(tx, invoice);
    followSale(tx, invoice, result.invoice);
  }
  for (const effect of result.effects) {
    if (effect.kind === 'paid') queueWebhook(app, tx, invoice, wasPaid(app, tx, terms, { facts, credits }));
    else if (effect.kind === 'undone') {
      alertUndone(app, tx, invoice);
      news.push('invoice.undone');
    } else claimCredit(app, tx, invoice, credits.find((row) => row.id === effect.credit)!, effect.claim);
  }
  if (invoice.status === 'paid' && terms.undone && !result.undone) endIn(app, tx, UNDONE, invoice.slug);
  const isMore = (payment.flags & FLAG.overpaid) === 0 && !options.accepted;
  if (isPaidByMore(terms, result, isMore) && fileOverpaid(app, tx, invoice, { payment, result, credits })) {
    news.push('invoice.overpaid');
  }
  for (const type of news) tellInvoice(app, tx, { ...invoice, status: result.invoice }, type);
}

/** Whether an invoice that is unpaid here was paid before this machine had its first view after a restore. */
function wasPaid(
  app: App,
  reader: Reader,
  terms: Terms,
  { facts, credits }: { facts: readonly CreditFact[]; credits: readonly CreditRow[] },
): boolean {
  const isShown = firstViews(reader);
  if (!isShown) return false;
  const before = facts.map((fact, at) => ({ ...fact, confirmed: fact.confirmed && isShown(credits[at]!) }));
  return settle(terms, { graceMs: graceMs(app) }, before, 0).invoice === 'paid';
}

/**
 * Whether an invoice that got too much is paid only now, is paid again, has its payment from another deposit now, or `isMore`: a deposit
 * is back beside the one that replaced it.
 */
function isPaidByMore(before: Terms, { invoice, undone, overpaid, effects }: Settlement, isMore: boolean): boolean {
  if (invoice !== 'paid' || undone || !overpaid) return false;
  const isClaimed = effects.some((one) => one.kind === 'claim' && one.claim === 'invoice');
  return before.invoice !== 'paid' || before.undone || isClaimed || isMore;
}

const deadlinesUntil = (app: App, { chain_key }: Pick<PaymentTarget, 'chain_key'>): number =>
  app.chains.find(chain_key)?.deadlinesUntil ?? 0;

/** Writes the changes, and returns their events in order. */
function writePayment(app: App, tx: Tx, payment: PaymentRow, result: Settlement, marked: boolean): InvoiceNews[] {
  const flags =
    (result.underpaid ? FLAG.underpaid : 0) |
    (result.overpaid ? FLAG.overpaid : 0) |
    (result.late ? FLAG.late : 0) |
    (result.undone ? FLAG.undone : 0) |
    (marked ? FLAG.markedPaid : 0);
  const next = {
    status: result.payment,
    check_at: result.checkAt,
    received: result.received,
    confirmed: result.confirmed,
    seen_value: result.seenValue,
    confirmed_value: result.confirmedValue,
    flags,
  };
  const changed = (Object.keys(next) as (keyof typeof next)[]).some((name) => next[name] !== payment[name]);
  if (changed) tx.run(updatePayment, { invoice_id: payment.invoice_id, ...next, updated_at: app.now() });
  const news: InvoiceNews[] = [];
  if (result.received > payment.received) news.push('invoice.seen');
  if (result.confirmed > payment.confirmed) news.push('invoice.confirmed');
  const isOverdue = result.payment === 'overdue' && payment.status !== 'overdue';
  if (isOverdue && result.invoice !== 'canceled') news.push('invoice.overdue');
  return news;
}

function claimCredit(app: App, tx: Tx, invoice: InvoiceRow, credit: CreditRow, claim: Verdict): void {
  tx.run(setClaim, { id: credit.id, claim });
  if (claim === 'invoice') return;
  fileInInbox(app, tx, invoice.business_id, credit, invoice.deleted_at === null ? claim : 'deleted');
}

/** Puts an unclaimed deposit into the operator's inbox. */
export function fileInInbox(
  app: App,
  tx: Tx,
  businessId: number,
  credit: Pick<CreditRow, 'id' | 'invoice_id' | 'usd_value'>,
  reason: InboxReason,
): void {
  tx.run(insertInboxItem, {
    credit_id: credit.id,
    business_id: businessId,
    invoice_id: credit.invoice_id,
    reason,
    state: 'open',
    silent: isSilent(reason, credit.usd_value),
    units: null,
    created_at: app.now(),
  });
  tx.afterCommit(() => app.operatorEvents.tell('inbox', `${credit.id}`));
}

/**
 * Takes a deposit out of the inbox that was called late, because its block tells now that it came in time, or locked, because it is no
 * more: its invoice decides about it when it is settled. It stays if the invoice of a late one has ended, somebody has decided about the
 * deposit, a refund link has offered it, or the invoice counts no more of its size. One of which only a part is in the inbox, as too much,
 * counts for its invoice again.
 */
export function takeFromInbox(app: App, tx: Tx, credit: CreditRow): void {
  const { id, claim, locked, invoice_id, first_seen_at } = credit;
  if (invoice_id === null) return;
  const belongs = claim === 'late' ? !isInTime(app, tx, invoice_id, first_seen_at) : claim !== 'locked' || locked;
  const item = tx.get(inboxOfCredit, { credit_id: id });
  if (belongs || !item) return;
  if (item.reason === 'overpaid') credit.claim = 'invoice';
  if (item.reason === 'overpaid' || item.state !== 'open') return;
  if (tx.all(refundLinksOfDeposit, { inbox_id: item.id, limit: 1 }).length > 0) return;
  if (!mayCount(app, tx, app.directory.business(item.business_id).network, { ...credit, invoice_id })) return;
  tx.run(deleteInboxItem, { credit_id: id });
  tx.afterCommit(() => app.operatorEvents.tell('inbox', `${id}`));
  credit.claim = null;
  // the next one of the same step is counted beside it
  tx.run(setClaim, { id, claim: null });
}

/** Whether an invoice is unpaid, and counts what was first seen then. */
function isInTime(app: App, reader: Reader, invoice_id: number, firstSeenAt: number): boolean {
  const payment = reader.get(paymentOf, { invoice_id });
  if (!payment || firstSeenAt > payment.deadline_at + graceMs(app)) return false;
  return reader.get(invoiceById, { id: invoice_id })?.status === 'unpaid';
}

function alertUndone(app: App, tx: Tx, invoice: InvoiceRow): void {
  const { network } = app.directory.business(invoice.business_id);
  raiseIn(app, tx, network, UNDONE, invoice.slug, message(UNDONE, { invoice: invoice.slug }));
  app.log.error({ invoice: invoice.slug }, 'a reorganisation undid a paid invoice');
}
