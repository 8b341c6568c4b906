/**
 * Tables in memory of what was written lately, and is not yet in every place on the disk: addresses that were given out, whose own rows do
 * not say so, and invoices that are not in the lists of their businesses.
 *
 * A pair of an invoice and its payment writes at the ends of tables, which pairs of other businesses share. The row of an address is in
 * a page of its account, and so is its place among the ready ones: a hundred businesses would write a hundred of each. So giving an
 * address out appends to the log `given` alone, and `app/addresses/enter.ts` enters many at once into their rows. Likewise a new invoice
 * is a row alone, and `app/invoices/listed.ts` adds many at once to the tables by which those of one business are found.
 *
 * Invariants. The log alone is on the disk; these tables are made from it at the start. They are in a database in memory that the
 * connection attaches, so a transaction that is undone undoes both. A ready address whose index is below `ready_from` of its account
 * is none: its row, or that of its twin on the chain with the same keys, is to be entered.
 */
import type Database from 'better-sqlite3';

/** The setting with the number in the log up to which all are entered. */
export const ENTERED_SETTING = 'given_entered';

/** The setting with the number of the invoice up to which all are in the lists. */
export const LISTED_SETTING = 'invoices_listed';

const upTo = (setting: string): string =>
  `coalesce((SELECT CAST(value AS INTEGER) FROM setting WHERE key = '${setting}'), 0)`;

const MADE: readonly string[] = [
  `ATTACH DATABASE ':memory:' AS lately`,
  `CREATE TABLE lately.given_lately (target_id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL) STRICT`,
  `CREATE TABLE lately.ready_from (account_id INTEGER PRIMARY KEY, idx INTEGER NOT NULL) STRICT`,
  `INSERT INTO given_lately SELECT given.target_id, given.invoice_id FROM given JOIN target ON target.id = given.target_id
   WHERE given.no > ${upTo(ENTERED_SETTING)} AND target.invoice_id IS NULL`,
  `INSERT INTO ready_from SELECT account_id, max(idx) + 1 FROM given_lately JOIN target ON target.id = target_id GROUP BY account_id`,
  `CREATE TABLE lately.invoice_lately (
     business_id INTEGER NOT NULL, created_at INTEGER NOT NULL, id INTEGER NOT NULL, order_id TEXT,
     PRIMARY KEY (business_id, created_at, id)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX lately.order_lately ON invoice_lately (business_id, order_id, created_at, id) WHERE order_id IS NOT NULL`,
  // a crash may have left some beyond the setting that are in the lists
  `INSERT INTO invoice_lately SELECT business_id, created_at, id, order_id FROM invoice WHERE id > ${upTo(LISTED_SETTING)}
     AND NOT EXISTS (SELECT 1 FROM invoice_listed AS listed WHERE listed.business_id = invoice.business_id
       AND listed.created_at = invoice.created_at AND listed.id = invoice.id)`,
];

/** Makes the tables on a connection whose database has every migration. */
export function rememberLately(db: Database.Database): void {
  for (const statement of MADE) db.prepare(statement).run();
}
