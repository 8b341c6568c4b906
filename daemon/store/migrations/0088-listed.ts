/**
 * The invoices of a business by time, and by the shop's reference, move from indexes to tables, to which many are added at once
 * (`../lately.ts`): of a hundred businesses, each invoice wrote to pages of its own. Those that are unpaid stand together, in the order in
 * which they were made; each of the others is in the index of its business since it was decided.
 */
export const LISTED: readonly string[] = [
  `CREATE TABLE invoice_listed (
    business_id INTEGER NOT NULL, created_at INTEGER NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (business_id, created_at, id)) STRICT, WITHOUT ROWID`,
  `INSERT INTO invoice_listed SELECT business_id, created_at, id FROM invoice ORDER BY business_id, created_at, id`,
  'DROP INDEX invoice_created',
  `CREATE TABLE invoice_ordered (
    business_id INTEGER NOT NULL, order_id TEXT NOT NULL, created_at INTEGER NOT NULL, id INTEGER NOT NULL,
    PRIMARY KEY (business_id, order_id, created_at, id)) STRICT, WITHOUT ROWID`,
  `INSERT INTO invoice_ordered SELECT business_id, order_id, created_at, id FROM invoice WHERE order_id IS NOT NULL
   ORDER BY business_id, order_id, created_at, id`,
  'DROP INDEX invoice_order',
  `INSERT INTO setting (key, value, updated_at)
   SELECT 'invoices_listed', CAST(coalesce(max(id), 0) AS TEXT), 0 FROM invoice`,
  `CREATE INDEX invoice_unpaid ON invoice (id, business_id) WHERE status = 'unpaid' AND deleted_at IS NULL`,
  `CREATE INDEX invoice_decided ON invoice (business_id, status, id) WHERE status <> 'unpaid' AND deleted_at IS NULL`,
  'DROP INDEX invoice_status',
];
