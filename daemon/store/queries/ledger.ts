/** Statements that read all entries in pages, for proofs and exports. */
import { sql } from 'kysely';
import { NO, sqlite, statement, YES } from '../statement.ts';
import type { CreditRow } from './credits.ts';

/**
 * Whether a credit moved within an account: its transaction took it from the same account. On a coin chain it is at a
 * change address, and the debit has the reference that `app/books/entries.ts` gives it. An account chain reports the
 * credit and the debit with the same reference, behind which the credit's may have a number: "txid:1:2" is "txid:1".
 */
export const moved = sql<number>`(exists (
  select 1 from debit
  where (debit.ref in (credit.outpoint, rtrim(rtrim(credit.outpoint, '0123456789'), ':'))
      or target.branch = 1 and debit.ref = credit.txid || ':moved:' || credit.account_id || ':' || credit.asset)
    and debit.chain_key = credit.chain_key and debit.kind = 'moved'))`;

/** `moved`: 1 if the credit moved within the account. */
export type CreditEntry = CreditRow & { address: string; moved: number; at: number };

/** When a credit entered the books: its block's time, or where that is not known when it was first seen. */
const at = sql<number>`coalesce(credit.block_time, credit.first_seen_at)`;

/** Credits of every chain that are in blocks, in the order of their times, above a time and an id of that time. */
export const creditsByTime = statement((p: { at: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .selectAll('credit')
    .select(['target.address', moved.as('moved'), at.as('at')])
    .where('credit.block_height', 'is not', null)
    .where('credit.gone', '=', NO)
    // the row's comparison alone would read the index from its beginning
    .where(at, '>=', p.at)
    .where(sql<boolean>`(${at}, credit.id) > (${p.at}, ${p.id})`)
    .orderBy(at)
    .orderBy('credit.id')
    .limit(p.limit),
);

/** The credits that count as takings, in the order of when they were first seen, above a time and an id of that time. */
export const takingsByTime = statement((p: { at: number; id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .select(['id', 'account_id', 'asset', 'usd_value', 'first_seen_at'])
    .where('claim', '=', sql.lit('invoice'))
    .where('confirmed', '=', YES)
    .where('gone', '=', NO)
    .where(sql<boolean>`(first_seen_at, id) > (${p.at}, ${p.id})`)
    .orderBy('first_seen_at')
    .orderBy('id')
    .limit(p.limit),
);

type Units = { at: number; id: number; until: number; limit: number };

/** Of the credits in blocks, up to another time, what a balance needs. */
export const creditUnitsByTime = statement((p: Units) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .select(['credit.id', 'credit.account_id', 'credit.asset', 'credit.units', moved.as('moved'), at.as('at')])
    .where('credit.block_height', 'is not', null)
    .where('credit.gone', '=', NO)
    .where(at, '>=', p.at)
    .where(sql<boolean>`(${at}, credit.id) > (${p.at}, ${p.id})`)
    .where(at, '<', p.until)
    .orderBy(at)
    .orderBy('credit.id')
    .limit(p.limit),
);

/** The same of debits. */
export const debitUnitsByTime = statement((p: Units) =>
  sqlite
    .selectFrom('debit')
    .select(['id', 'account_id', 'asset', 'units', sql<number>`(kind = 'moved')`.as('moved'), 'at'])
    .where('block_hash', 'is not', null)
    .where(sql<boolean>`(at, id) > (${p.at}, ${p.id})`)
    .where('at', '<', p.until)
    .orderBy('at')
    .orderBy('id')
    .limit(p.limit),
);

/** The credits of one chain with ids above one and up to another. */
export const creditsOfChain = statement((p: { chain_key: string; above: number; to: number }) =>
  sqlite
    .selectFrom('credit')
    .selectAll()
    .where('id', '>', p.above)
    .where('id', '<=', p.to)
    .where('chain_key', '=', p.chain_key)
    .orderBy('id'),
);

/** The same of debits. */
export const debitsOfChain = statement((p: { chain_key: string; above: number; to: number }) =>
  sqlite
    .selectFrom('debit')
    .selectAll()
    .where('id', '>', p.above)
    .where('id', '<=', p.to)
    .where('chain_key', '=', p.chain_key)
    .orderBy('id'),
);
