/**
 * The rate of each entry at its time, in the currency of its business: an ISO 4217 code, 1e-8 of it a whole coin, and when that rate was
 * found. Entries of releases before have no currency there. A currency without a rate: none was known. An index has those without one.
 */
export const BOOKS_CURRENCY: readonly string[] = [
  ...['credit', 'debit'].flatMap((table) => [
    `ALTER TABLE ${table} ADD COLUMN book_currency TEXT`,
    `ALTER TABLE ${table} ADD COLUMN book_rate TEXT`,
    `ALTER TABLE ${table} ADD COLUMN book_rate_at INTEGER`,
  ]),
  `CREATE INDEX credit_unrated ON credit (first_seen_at, id)
    WHERE book_rate IS NULL AND book_currency IS NOT NULL`,
  `CREATE INDEX debit_unrated ON debit (at, id)
    WHERE book_rate IS NULL AND book_currency IS NOT NULL`,
];
