/** Statements about what servers showed of an invoice's addresses before a deadline. */
import { sql } from 'kysely';
import { columnsBut, find, insert, sqlite, statement } from '../statement.ts';

export const absenceOf = find('absence', 'invoice_id');

export const saveAbsence = insert('absence', columnsBut('absence'), ['invoice_id']);

/** Those that deadlines wait for and that were not asked since a time, the longest ago first. A time to come is a clock's error. */
export const wantedAbsences = statement((p: { before: number; now: number; limit: number }) =>
  sqlite
    .selectFrom('absence')
    .selectAll()
    .where('wanted_at', 'is not', null)
    .where((where) => where.or([where('asked_at', '<=', p.before), where('asked_at', '>', p.now)]))
    .orderBy('asked_at')
    .limit(p.limit),
);

/** How many deadlines of a chain have been waiting since a time or longer, and since when the first one. */
export const longWanted = statement((p: { chain_key: string; until: number }) =>
  sqlite
    .selectFrom('absence')
    .select([sql<number>`count(*)`.as('count'), sql<number | null>`min(wanted_at)`.as('since')])
    .where('wanted_at', '<=', p.until)
    .where('chain_key', '=', p.chain_key),
);
