/** Receipts that payers ask for by e-mail. The address and the text are there only until the message was taken. */
export const RECEIPTS: readonly string[] = [
  `CREATE TABLE receipt (
    invoice_id INTEGER PRIMARY KEY, asked INTEGER NOT NULL, asked_at INTEGER NOT NULL, email TEXT, subject TEXT,
    body TEXT, tries INTEGER NOT NULL, next_at INTEGER) STRICT`,
  'CREATE INDEX receipt_next ON receipt (next_at) WHERE next_at IS NOT NULL',
  // each request of a day, to limit them; the address as a keyed hash
  `CREATE TABLE receipt_request (
    id INTEGER PRIMARY KEY, at INTEGER NOT NULL, business_id INTEGER NOT NULL, address TEXT NOT NULL) STRICT`,
  'CREATE INDEX receipt_request_at ON receipt_request (at)',
  'CREATE INDEX receipt_request_business ON receipt_request (business_id, at)',
  'CREATE INDEX receipt_request_address ON receipt_request (address, at)',
];
