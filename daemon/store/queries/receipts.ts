/** Statements about receipts that payers asked for by e-mail. */
import { columnsBut, find, insert, sqlite, statement } from '../statement.ts';

export const receiptOf = find('receipt', 'invoice_id');

export const saveReceipt = insert('receipt', columnsBut('receipt'), ['invoice_id']);

/** Those that are to be sent, the first one first. Also those that a clock that was ahead has put off beyond `putOffUntil`. */
export const dueReceipts = statement((p: { now: number; putOffUntil: number; limit: number }) =>
  sqlite
    .selectFrom('receipt')
    .selectAll()
    .where('next_at', 'is not', null)
    .where((eb) => eb.or([eb('next_at', '<=', p.now), eb('next_at', '>', p.putOffUntil)]))
    .orderBy('next_at')
    .limit(p.limit),
);

/** Forgets addresses and texts that wait since before a time. */
export const forgetReceipts = statement((p: { before: number }) =>
  sqlite
    .updateTable('receipt')
    .set({ email: null, subject: null, body: null, next_at: null })
    .where('next_at', 'is not', null)
    .where('next_at', '>=', 0)
    .where('asked_at', '<', p.before),
);

export const addRequest = insert('receipt_request', columnsBut('receipt_request', 'id'));

/** The requests of a business since a time, up to a limit. */
export const requestsOfBusiness = statement((p: { business_id: number; since: number; limit: number }) =>
  sqlite
    .selectFrom('receipt_request')
    .select('id')
    .where('business_id', '=', p.business_id)
    .where('at', '>', p.since)
    .limit(p.limit),
);

/** The requests for an address since a time, up to a limit. */
export const requestsOfAddress = statement((p: { address: string; since: number; limit: number }) =>
  sqlite
    .selectFrom('receipt_request')
    .select('id')
    .where('address', '=', p.address)
    .where('at', '>', p.since)
    .limit(p.limit),
);

/** Forgets the requests of before a time, and those that a clock that was ahead dated after another. */
export const forgetRequests = statement((p: { before: number; after: number }) =>
  sqlite.deleteFrom('receipt_request').where((eb) => eb.or([eb('at', '<', p.before), eb('at', '>', p.after)])),
);
