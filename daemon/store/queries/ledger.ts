/** Statements that read all there is, in pages: for proofs and exports. */
import { sql } from 'kysely';
import { sqlite, statement } from '../statement.ts';
import type { CreditRow } from './credits.ts';

/**
 * Whether a credit is the account's own money: at an address for change, of a transaction that took it from the same
 * account. The debit is named as `app/books/entries.ts` names those of coins, or as the chain did that reported both.
 */
export const moved = sql<number>`(target.branch = 1 and exists (
  select 1 from debit
  where debit.ref in (credit.txid || ':moved:' || credit.account_id || ':' || credit.asset, credit.outpoint)
    and debit.chain_key = credit.chain_key and debit.kind = 'moved'))`;

/** `moved`: 1 for the account's own money. */
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
