/** The shop's references of invoices, and lists of invoices by time. See `../schema.ts` for the columns. */
export const ORDERS: readonly string[] = [
  'ALTER TABLE invoice ADD COLUMN order_id TEXT',
  'ALTER TABLE invoice ADD COLUMN description TEXT',
  'ALTER TABLE invoice ADD COLUMN metadata TEXT',
  'CREATE INDEX invoice_order ON invoice (business_id, order_id, created_at, id) WHERE order_id IS NOT NULL',
  'CREATE INDEX invoice_created ON invoice (business_id, created_at, id)',
];
