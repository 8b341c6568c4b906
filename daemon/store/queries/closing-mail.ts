/** Statements about the e-mails about closed days. */
import { columnsBut, find, insert, sqlite, statement } from '../statement.ts';

export const closingMailOf = find('closing_mail', 'closing_id');

export const saveClosingMail = insert('closing_mail', columnsBut('closing_mail'), ['closing_id']);

/**
 * Those that are to be sent, and those whose sending was begun; the first one first. Also those that a clock that was
 * ahead has put off beyond `putOffUntil`.
 */
export const dueClosingMails = statement((p: { now: number; putOffUntil: number; limit: number }) =>
  sqlite
    .selectFrom('closing_mail')
    .selectAll()
    .where('next_at', 'is not', null)
    .where((eb) => eb.or([eb('next_at', '<=', p.now), eb('next_at', '>', p.putOffUntil)]))
    .orderBy('next_at')
    .limit(p.limit),
);
