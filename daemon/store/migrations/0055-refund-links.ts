/** Pages on which a payer types the address of a refund. See `../schema-links.ts` for the columns. */
export const REFUND_LINKS: readonly string[] = [
  `CREATE TABLE refund_link (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, business_id INTEGER NOT NULL, invoice_id INTEGER, inbox_id INTEGER,
    asset TEXT NOT NULL, units TEXT, state TEXT NOT NULL, ends_at INTEGER NOT NULL, address TEXT, given_at INTEGER,
    withdrawal_id INTEGER, problem TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,
  'CREATE INDEX refund_link_invoice ON refund_link (invoice_id) WHERE invoice_id IS NOT NULL',
  'CREATE INDEX refund_link_inbox ON refund_link (inbox_id) WHERE inbox_id IS NOT NULL',
  'CREATE INDEX refund_link_withdrawal ON refund_link (withdrawal_id) WHERE withdrawal_id IS NOT NULL',
];
