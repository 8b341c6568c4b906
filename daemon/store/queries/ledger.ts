/** Statements that read all entries in pages, for proofs and exports. */
import { sql } from 'kysely';
import { sqlite, statement } from '../statement.ts';
import type { CreditRow } from './credits.ts';

/**
 * Whether a credit moved within an account: it is at a change address, and its transaction took it from the same
 * account. The debit has the reference that `app/books/entries.ts` gives to debits of coins, or the one that an account
 * chain reported for both.
 */
export const moved = sql<number>`(target.branch = 1 and exists (
  select 1 from debit
  where debit.ref in (credit.txid || ':moved:' || credit.account_id || ':' || credit.asset, credit.outpoint)
    and debit.chain_key = credit.chain_key and debit.kind = 'moved'))`;

/** `moved`: 1 if the credit moved within the account. */
export type CreditEntry = CreditRow & { address: string; moved: number };

/** Credits of every chain in the order in which they were stored. */
export const creditsAbove = statement((p: { id: number; limit: number }) =>
  sqlite
    .selectFrom('credit')
    .innerJoin('target', 'target.id', 'credit.target_id')
    .selectAll('credit')
    .select(['target.address', moved.as('moved')])
    .where('credit.id', '>', p.id)
    .orderBy('credit.id')
    .limit(p.limit),
);
