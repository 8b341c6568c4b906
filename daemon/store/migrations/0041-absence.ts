/**
 * The answers of servers of several operators about an invoice's addresses, before a deadline counts. See `../schema.ts` for the columns.
 */
export const ABSENCE: readonly string[] = [
  `CREATE TABLE absence (
    invoice_id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, wanted_at INTEGER, asked_at INTEGER NOT NULL, until INTEGER,
    servers TEXT NOT NULL) STRICT`,
  'CREATE INDEX absence_wanted ON absence (asked_at) WHERE wanted_at IS NOT NULL',
];
