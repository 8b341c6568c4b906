/** Statements about receipts that payers asked for by e-mail. */
import { columnsBut, find, insert, sqlite, statement } from '../statement.ts';

export const receiptOf = find('receipt', 'invoice_id');

export const saveReceipt = insert('receipt', columnsBut('receipt'), ['invoice_id']);

/** Those that are to be sent, the first one first. */
export const dueReceipts = statement((p: { now: number; limit: number }) =>
  sqlite
    .selectFrom('receipt')
    .selectAll()
    .where('next_at', 'is not', null)
    .where('next_at', '<=', p.now)
    .orderBy('next_at')
    .limit(p.limit),
);

/** Those that were last asked for since a time, up to a limit. */
export const receiptsSince = statement((p: { since: number; limit: number }) =>
  sqlite.selectFrom('receipt').select('invoice_id').where('asked_at', '>', p.since).limit(p.limit),
);
