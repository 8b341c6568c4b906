/** Receipts that payers ask for by e-mail. The address and the text are there only until the message was taken. */
export const RECEIPTS: readonly string[] = [
  `CREATE TABLE receipt (
    invoice_id INTEGER PRIMARY KEY, asked INTEGER NOT NULL, asked_at INTEGER NOT NULL, email TEXT, subject TEXT,
    body TEXT, tries INTEGER NOT NULL, next_at INTEGER) STRICT`,
  'CREATE INDEX receipt_next ON receipt (next_at) WHERE next_at IS NOT NULL',
  'CREATE INDEX receipt_asked ON receipt (asked_at)',
];
