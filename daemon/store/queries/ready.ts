/** The addresses of an account that are ready to be given out. */
import { sql } from 'kysely';
import { sqlite } from '../statement.ts';

/**
 * The beginning of statements about them. SQLite uses a partial index, `target_pool` here, only if its condition is in the
 * statement as a literal, not as a parameter. Those below `ready_from` were given out (`../lately.ts`).
 */
export function readyTargets(accountId: number) {
  return sqlite
    .selectFrom('target')
    .where('account_id', '=', accountId)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0))
    .where(
      sql<boolean>`idx >= coalesce((SELECT ready.idx FROM ready_from AS ready WHERE ready.account_id = ${accountId}), 0)`,
    );
}

/** The invoice to which an address was given, whether its row says so already or not; 0: to none, and it never will be. */
export const invoiceOfTarget = sql<
  number | null
>`coalesce(target.invoice_id, (SELECT invoice_id FROM given_lately WHERE target_id = target.id))`;
