/** The addresses of an account that are ready to be given out. */
import { sql } from 'kysely';
import { sqlite } from '../statement.ts';

/**
 * The beginning of statements about them. SQLite uses a partial index, `target_pool` here, only if its condition is in the
 * statement as a literal, not as a parameter.
 */
export function readyTargets(accountId: number) {
  return sqlite
    .selectFrom('target')
    .where('account_id', '=', accountId)
    .where('invoice_id', 'is', null)
    .where('branch', '=', sql.lit(0));
}
