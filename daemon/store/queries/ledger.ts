/** Statements that read all entries in pages, for proofs and exports. */
import { sql } from 'kysely';
import { sqlite, statement } from '../statement.ts';
import type { CreditRow } from './credits.ts';

/**
 * Whether a credit moved within an account: its transaction took it from the same account. On a coin chain it is at a
 * change address, and the debit has the reference that `app/books/entries.ts` gives it. An account chain reports the
 * credit and the debit with the same reference.
 */
export const moved = sql<number>`(exists (
  select 1 from debit
  where (debit.ref = credit.outpoint
      or target.branch = 1 and debit.ref = credit.txid || ':moved:' || credit.account_id || ':' || credit.asset)
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
