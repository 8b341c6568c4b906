/**
 * The e-mail about each closed day, to the addresses of `closing.mail`.
 *
 * Invariants. A day has one message, asked for by the commit that closes it, and a further one only when somebody asks again. That a
 * message is being sent is stored before its first byte: one whose end is not known, because the service was killed or the server
 * fell silent after it had the text, is not sent again by itself, and says so. Every other failure is tried again for a day. Whatever then
 * was not sent is told by an alert.
 */
import { Rejected } from '../../domain/errors.ts';
import { type Message, message } from '../../domain/messages.ts';
import { MS_PER_DAY, putOffUntil } from '../../domain/time.ts';
import { closingMailOf, dueClosingMails, saveClosingMail } from '../../store/queries/closing-mail.ts';
import { closingById, closingsOf } from '../../store/queries/counter.ts';
import type { Row } from '../../store/schema.ts';
import type { Reader, Tx } from '../../store/store.ts';
import { endIn, raiseIn } from '../alerts.ts';
import type { App } from '../app.ts';
import { isQuarantined } from '../recovery/quarantine.ts';
import type { Business } from '../shops/directory.ts';

const UNSENT = 'closing.unsent';
const RETRY_MS_MIN = 60_000;
/** After the first try; the last one is 23 hours after it. */
const RETRIES = 6;
const DUE_MAX = 10;

export type ClosingMail = Row<'closing_mail'>;
/** `file`: comma-separated values, attached. */
export type MailText = { subject: string; body: string; file: string };

/** Stores the message about a closing that is to be sent; nothing where `closing.mail` names nobody. */
export function askClosingMail(app: App, tx: Tx, closingId: number, text: MailText): void {
  const recipients = app.config.closing.mail;
  if (recipients.length === 0) return;
  const now = app.now();
  const fresh = { state: 'waiting', problem: null, tries: 0, asked_at: now, changed_at: now, next_at: now } as const;
  tx.run(saveClosingMail, { closing_id: closingId, recipients, ...text, ...fresh });
}

/**
 * Asks once more for the message about a closing, and returns the closing. `textOf` makes it from the stored report. Throws `Rejected`: `closing.not_found`,
 * `closing.mail_off` where nobody is to get it, `closing.mail_waits` while one is on its way.
 */
export function askClosingMailAgain(
  app: App,
  tx: Tx,
  business: Business,
  number: number,
  textOf: (report: object) => MailText,
): Row<'closing'> {
  const closing = closingNumbered(tx, business, number);
  if (!closing) throw new Rejected('closing.not_found', `There is no closing ${number}`, 'number');
  if (app.config.closing.mail.length === 0) {
    throw new Rejected('closing.mail_off', 'No address is set for closings: [closing] mail');
  }
  if (tx.get(closingMailOf, { closing_id: closing.id })?.next_at != null) {
    throw new Rejected('closing.mail_waits', 'The e-mail about this closing is on its way');
  }
  askClosingMail(app, tx, closing.id, textOf(closing.report));
  return closing;
}

function closingNumbered(reader: Reader, { id }: Business, number: number): Row<'closing'> | undefined {
  const closing = reader.get(closingsOf, { business_id: id, below: number + 1, limit: 1 });
  return closing?.number === number ? closing : undefined;
}

/** The message about a closing; null: none was asked for. */
export const mailOfClosing = (reader: Reader, closingId: number): ClosingMail | null =>
  reader.get(closingMailOf, { closing_id: closingId }) ?? null;

/**
 * The next message to send, stored as being sent. Ends those on the way whose sending an earlier life began, that the data of a backup
 * has, and that are older than a day. Null: there is nothing to send. Call it again only after `recordClosingMail`.
 */
export function takeClosingMail(app: App, tx: Tx, canSend: boolean): ClosingMail | null {
  const now = app.now();
  for (const row of tx.all(dueClosingMails, { now, putOffUntil: putOffUntil(now), limit: DUE_MAX })) {
    if (row.state === 'sending') end(app, tx, row, 'unknown', message('mail.ended'));
    else if (isQuarantined(tx)) end(app, tx, row, 'unknown', message('mail.restored'));
    else if (!canSend) end(app, tx, row, 'failed', message('mail.off'));
    else if (row.asked_at < now - MS_PER_DAY) end(app, tx, row, 'failed', row.problem ?? message('mail.old'));
    else {
      const sending = { ...row, state: 'sending', tries: row.tries + 1, changed_at: now } as const;
      tx.run(saveClosingMail, sending);
      return sending;
    }
  }
  return null;
}

/** How a message ended: `problem` null: it was taken. `maybe`: it may have been. `again`: a later try may help. */
export type MailEnd = { problem: Message | null; maybe: boolean; again: boolean };

/** Stores how the sending of a message that was taken here ended. */
export function recordClosingMail(app: App, tx: Tx, sent: ClosingMail, { problem, maybe, again }: MailEnd): void {
  if (problem === null) end(app, tx, sent, 'sent', null);
  else if (maybe) end(app, tx, sent, 'unknown', problem);
  else if (!again || sent.tries > RETRIES) end(app, tx, sent, 'failed', problem);
  else {
    const next_at = app.now() + RETRY_MS_MIN * 4 ** (sent.tries - 1);
    tx.run(saveClosingMail, { ...sent, state: 'waiting', problem, changed_at: app.now(), next_at });
  }
}

/** One that was not sent, or perhaps not, is an alert until a later one of the same closing is sent. */
function end(app: App, tx: Tx, row: ClosingMail, state: ClosingMail['state'], problem: Message | null): void {
  const forgotten = { subject: null, body: null, file: null, next_at: null };
  tx.run(saveClosingMail, { ...row, ...forgotten, state, problem, changed_at: app.now() });
  const subject = `${row.closing_id}`;
  if (problem === null) {
    endIn(app, tx, UNSENT, subject);
    return;
  }
  const { business_id, number } = tx.get(closingById, { id: row.closing_id })!;
  const { name: business } = app.directory.business(business_id);
  const values = { business, number, recipients: row.recipients.join(', '), reason: problem };
  // the mail server is real also where the business is in the sandbox
  raiseIn(app, tx, null, UNSENT, subject, message(UNSENT, values));
}
