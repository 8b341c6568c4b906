/** Statements about the rates of entries in their business's currency. */
import { sqlite, statement, update } from '../statement.ts';

export const setCreditRate = update('credit', ['book_rate', 'book_rate_at'], 'id');
export const setDebitRate = update('debit', ['book_rate', 'book_rate_at'], 'id');

/** A page, by time, of receipts first seen up to a time for which no rate is known. */
export const unratedCredits = statement((p: { at: number; id: number; until: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['id', 'account_id', 'asset', 'book_currency', 'first_seen_at as at'])
    .where('book_rate', 'is', null)
    .where('book_currency', 'is not', null)
    .where('first_seen_at', '>=', p.at)
    .where((eb) => eb.or([eb('first_seen_at', '>', p.at), eb('id', '>', p.id)]))
    .where('first_seen_at', '<=', p.until)
    .orderBy('first_seen_at')
    .orderBy('id')
    .limit(p.limit),
);

/** The same of debits, by the time of their first block. */
export const unratedDebits = statement((p: { at: number; id: number; until: number; limit: number }) =>
  sqlite
    .selectFrom('debit')
    .select(['id', 'account_id', 'asset', 'book_currency', 'at'])
    .where('book_rate', 'is', null)
    .where('book_currency', 'is not', null)
    .where('at', '>=', p.at)
    .where((eb) => eb.or([eb('at', '>', p.at), eb('id', '>', p.id)]))
    .where('at', '<=', p.until)
    .orderBy('at')
    .orderBy('id')
    .limit(p.limit),
);
export type UnratedRow = NonNullable<(typeof unratedCredits)['row']> | NonNullable<(typeof unratedDebits)['row']>;
