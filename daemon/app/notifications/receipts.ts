/**
 * Receipts by e-mail, for payers who ask for one on the payment page.
 *
 * Invariants. Nobody can have this service write to strangers at will: only an invoice that somebody paid has receipts, at most
 * `ASKED_MAX` of them, to one address each, of a text that no payer writes. The requests of a business are limited by the hour, those
 * for an address by the day. The address is stored until the server of the operator took the message or refused it for good, until it
 * was tried `TRIES_MAX` times, or until a start a day later or without receipts.
 */

import { createHmac, randomBytes } from 'node:crypto';
import { Rejected } from '../../domain/errors.ts';
import { MS_PER_DAY, MS_PER_HOUR, putOffUntil } from '../../domain/time.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import { paymentOf } from '../../store/queries/invoices.ts';
import {
  addRequest,
  dueReceipts,
  forgetReceipts,
  forgetRequests,
  receiptOf,
  requestsOfAddress,
  requestsOfBusiness,
  saveReceipt,
} from '../../store/queries/receipts.ts';
import type { Row } from '../../store/schema.ts';
import type { Reader, Tx } from '../../store/store.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';

const ASKED_MAX = 3;
const HOURLY_MAX = 60;
const DAILY_MAX = 3;
/** In memory alone, so that a copy of the database tells nobody's address. A restart begins the count of addresses anew. */
const ADDRESS_KEY = randomBytes(32);
const TRIES_MAX = 6;
const RETRY_MS_MIN = 60_000;
const DUE_MAX = 10;
const EMAIL_CHARS_MAX = 254;
/** One plain address: no list, no name, no quotes, no line break. */
const EMAIL = /^[\w.!#$%&'*+/=?^`{|}~-]{1,64}@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z]{2,63}$/;

export type Receipt = Row<'receipt'>;

/** Whether the operator sends receipts by e-mail. */
export const sendsReceipts = ({ config: { payments, alerts } }: Pick<App, 'config'>): boolean =>
  payments.emailReceipts && alerts.smtp !== null && alerts.emailFrom !== null;

export type ReceiptState = 'offered' | 'asked' | 'over';

/**
 * Whether a receipt of an invoice can be asked for; null: none is ever sent. `asked`: one is on its way or was taken,
 * and a further one may be asked for later.
 */
export function receiptState(app: App, reader: Reader, invoice: InvoiceRow): ReceiptState | null {
  if (!sendsReceipts(app) || invoice.status !== 'paid') return null;
  const payment = reader.get(paymentOf, { invoice_id: invoice.id });
  if (!payment || payment.confirmed === 0n) return null;
  const row = reader.get(receiptOf, { invoice_id: invoice.id });
  if (!row) return 'offered';
  if (row.next_at !== null) return 'asked';
  return row.asked < ASKED_MAX ? 'offered' : 'over';
}

/** Stores a receipt that is to be sent. Throws `Rejected`: `receipt.email`, and `receipt.none` where none can be asked for. */
export function askReceipt(
  app: App,
  tx: Tx,
  invoice: InvoiceRow,
  { email, subject, body }: { email: string; subject: string; body: string },
): void {
  if (email.length > EMAIL_CHARS_MAX || !EMAIL.test(email)) {
    throw new Rejected('receipt.email', 'That is not one e-mail address', 'email');
  }
  const now = app.now();
  const { business_id } = invoice;
  const address = createHmac('sha256', ADDRESS_KEY).update(email.toLowerCase()).digest('hex');
  const hourly = tx.all(requestsOfBusiness, { business_id, since: now - MS_PER_HOUR, limit: HOURLY_MAX }).length;
  const daily = tx.all(requestsOfAddress, { address, since: now - MS_PER_DAY, limit: DAILY_MAX }).length;
  if (receiptState(app, tx, invoice) !== 'offered' || hourly >= HOURLY_MAX || daily >= DAILY_MAX) {
    throw new Rejected('receipt.none', 'No receipt can be asked for now');
  }
  tx.run(addRequest, { at: now, business_id, address });
  const before = tx.get(receiptOf, { invoice_id: invoice.id })?.asked ?? 0;
  const fresh = { asked: before + 1, asked_at: now, tries: 0, next_at: now };
  tx.run(saveReceipt, { invoice_id: invoice.id, email, subject, body, ...fresh });
}

/** Forgets requests after a day, and what waits for longer; everything that waits where no receipts are sent. */
export function forgetOldReceipts(app: App, tx: Tx): void {
  const now = app.now();
  const before = now - MS_PER_DAY;
  tx.run(forgetRequests, { before, after: putOffUntil(now) });
  tx.run(forgetReceipts, { before: sendsReceipts(app) ? before : Number.MAX_SAFE_INTEGER });
}

/** Those that are to be sent now; none during the quarantine. */
export function nextReceipts(app: App): Receipt[] {
  if (isQuarantined(app.store)) return [];
  const now = app.now();
  return app.store.all(dueReceipts, { now, putOffUntil: putOffUntil(now), limit: DUE_MAX });
}

/** Whether a receipt was asked for so long ago that it is forgotten, not sent. */
export const isOutdated = (app: App, { asked_at }: Receipt): boolean => asked_at < app.now() - MS_PER_DAY;

/** Forgets address and text once a message was taken, was refused for good or is given up; otherwise it is tried again later. */
export function recordReceipt(app: App, tx: Tx, sent: Receipt, end: 'taken' | 'refused' | 'failed'): void {
  const row = tx.get(receiptOf, { invoice_id: sent.invoice_id });
  // asked for again meanwhile
  if (!row || row.asked !== sent.asked || row.next_at === null) return;
  const tries = row.tries + 1;
  if (end !== 'failed' || tries >= TRIES_MAX) {
    tx.run(saveReceipt, { ...row, email: null, subject: null, body: null, tries, next_at: null });
  } else tx.run(saveReceipt, { ...row, tries, next_at: app.now() + RETRY_MS_MIN * 4 ** row.tries });
}
