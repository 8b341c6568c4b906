/** What a shop calls its invoices, and lists of them by time. See `../schema.ts` for what the columns mean. */
export const ORDERS: readonly string[] = [
  'ALTER TABLE invoice ADD COLUMN order_id TEXT',
  'ALTER TABLE invoice ADD COLUMN description TEXT',
  'ALTER TABLE invoice ADD COLUMN metadata TEXT',
  'CREATE INDEX invoice_order ON invoice (business_id, order_id, created_at, id) WHERE order_id IS NOT NULL',
  'CREATE INDEX invoice_created ON invoice (business_id, created_at, id)',
];
