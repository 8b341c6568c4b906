/**
 * Receipts by e-mail, for payers who ask for one on the payment page.
 *
 * Invariants. Nobody can have this service write to strangers at will: only an invoice that somebody paid has receipts, at most
 * `ASKED_MAX` of them, to one address each, of a text that no payer writes, and all together are limited by the hour. The
 * address is stored until the server of the operator took the message, or until it was tried `TRIES_MAX` times.
 */
import { Rejected } from '../../domain/errors.ts';
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import { paymentOf } from '../../store/queries/invoices.ts';
import { dueReceipts, receiptOf, receiptsSince, saveReceipt } from '../../store/queries/receipts.ts';
import type { Row } from '../../store/schema.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { type App, MS_PER_HOUR } from '../app.ts';

const ASKED_MAX = 3;
const HOURLY_MAX = 60;
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
 * Whether a receipt of an invoice can be asked for; null: none is ever sent. `asked`: one is on its way or was taken, and a
 * further one may be asked for later.
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
  const asked = tx.all(receiptsSince, { since: now - MS_PER_HOUR, limit: HOURLY_MAX }).length;
  if (receiptState(app, tx, invoice) !== 'offered' || asked >= HOURLY_MAX) {
    throw new Rejected('receipt.none', 'No receipt can be asked for now');
  }
  const before = tx.get(receiptOf, { invoice_id: invoice.id })?.asked ?? 0;
  const fresh = { asked: before + 1, asked_at: now, tries: 0, next_at: now };
  tx.run(saveReceipt, { invoice_id: invoice.id, email, subject, body, ...fresh });
}

/** Those that are to be sent now. */
export const nextReceipts = (app: App): Receipt[] => app.store.all(dueReceipts, { now: app.now(), limit: DUE_MAX });

/** Forgets address and text once a message was taken or given up; otherwise it is tried again later. */
export function recordReceipt(app: App, tx: Tx, sent: Receipt, taken: boolean): void {
  const row = tx.get(receiptOf, { invoice_id: sent.invoice_id });
  // asked for again meanwhile
  if (!row || row.asked !== sent.asked || row.next_at === null) return;
  const tries = row.tries + 1;
  if (taken || tries >= TRIES_MAX) {
    tx.run(saveReceipt, { ...row, email: null, subject: null, body: null, tries, next_at: null });
  } else tx.run(saveReceipt, { ...row, tries, next_at: app.now() + RETRY_MS_MIN * 4 ** row.tries });
}
