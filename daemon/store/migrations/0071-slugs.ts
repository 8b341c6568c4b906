/**
 * A new invoice's slug is its number, permuted by a key of this database (`app/invoices/slugs.ts`), so it needs no index. Those of releases
 * before are random, and stay in an index of their own. SQLite cannot give up the index of a column, so the table is made anew.
 */
export const SLUGS: readonly string[] = [
  `INSERT INTO setting (key, value, updated_at) VALUES ('slug_key', lower(hex(randomblob(16))), 0)`,
  `CREATE TABLE invoice_named (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, slug TEXT NOT NULL, business_id INTEGER NOT NULL,
    origin TEXT NOT NULL, amount TEXT NOT NULL, tolerance TEXT NOT NULL, currency TEXT NOT NULL, crypto TEXT NOT NULL,
    status TEXT NOT NULL, due_at INTEGER NOT NULL, check_at INTEGER, close_url TEXT, redirect_url TEXT,
    webhook_url TEXT, automatic_redirect INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    deleted_at INTEGER, order_id TEXT, description TEXT, metadata TEXT, random_slug INTEGER NOT NULL DEFAULT 0) STRICT`,
  `INSERT INTO invoice_named SELECT id, uuid, slug, business_id, origin, amount, tolerance, currency, crypto, status, due_at,
    check_at, close_url, redirect_url, webhook_url, automatic_redirect, created_at, updated_at, deleted_at, order_id,
    description, metadata, 1 FROM invoice ORDER BY id`,
  'DROP TABLE invoice',
  'ALTER TABLE invoice_named RENAME TO invoice',
  'CREATE UNIQUE INDEX invoice_random_slug ON invoice (slug) WHERE random_slug = 1',
  'CREATE INDEX invoice_check ON invoice (check_at) WHERE check_at IS NOT NULL',
  'CREATE INDEX invoice_order ON invoice (business_id, order_id, created_at, id) WHERE order_id IS NOT NULL',
  'CREATE INDEX invoice_created ON invoice (business_id, created_at, id)',
  'CREATE INDEX invoice_status ON invoice (business_id, status, id)',
  'CREATE INDEX invoice_amount ON invoice (amount, id)',
];
