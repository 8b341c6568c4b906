/**
 * Tables in memory of the addresses that were given out lately: their own rows do not say so yet.
 *
 * A pair of an invoice and its payment writes at the ends of tables, which pairs of other businesses share. The row of an address is in
 * a page of its account, and so is its place among the ready ones: a hundred businesses would write a hundred of each. So giving an
 * address out appends to the log `given` alone, and `app/addresses/enter.ts` enters many at once into their rows.
 *
 * Invariants. The log alone is on the disk; these tables are made from it at the start. They are in a database in memory that the
 * connection attaches, so a transaction that is undone undoes both. A ready address whose index is below `ready_from` of its account
 * is none: its row, or that of its twin on the chain with the same keys, is to be entered.
 */
import type Database from 'better-sqlite3';

/** The setting with the number in the log up to which all are entered. */
export const ENTERED_SETTING = 'given_entered';

const MADE: readonly string[] = [
  `ATTACH DATABASE ':memory:' AS lately`,
  `CREATE TABLE lately.given_lately (target_id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL) STRICT`,
  `CREATE TABLE lately.ready_from (account_id INTEGER PRIMARY KEY, idx INTEGER NOT NULL) STRICT`,
  `INSERT INTO given_lately SELECT given.target_id, given.invoice_id FROM given JOIN target ON target.id = given.target_id
   WHERE given.no > coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE key = '${ENTERED_SETTING}'), 0)
     AND target.invoice_id IS NULL`,
  `INSERT INTO ready_from SELECT account_id, max(idx) + 1 FROM given_lately JOIN target ON target.id = target_id GROUP BY account_id`,
];

/** Makes the tables on a connection whose database has every migration. */
export function rememberLately(db: Database.Database): void {
  for (const statement of MADE) db.prepare(statement).run();
}
