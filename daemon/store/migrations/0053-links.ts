/**
 * Payment links: pages that make invoices, with the items that they sell and what each invoice sold. See `../schema-links.ts` for
 * the columns.
 */
export const LINKS: readonly string[] = [
  `CREATE TABLE link (
    id INTEGER PRIMARY KEY, slug TEXT NOT NULL UNIQUE, business_id INTEGER NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
    about TEXT, currency TEXT NOT NULL, least TEXT, suggested TEXT NOT NULL, ends_at INTEGER, ended_at INTEGER,
    paid INTEGER NOT NULL, paid_amount TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,
  'CREATE INDEX link_business ON link (business_id)',
  `CREATE TABLE link_item (
    id INTEGER PRIMARY KEY, link_id INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, price TEXT NOT NULL,
    stock INTEGER, taken INTEGER NOT NULL DEFAULT 0, listed INTEGER NOT NULL) STRICT`,
  'CREATE INDEX link_item_link ON link_item (link_id, place)',
  `CREATE TABLE link_sale (
    invoice_id INTEGER PRIMARY KEY, link_id INTEGER NOT NULL, holds INTEGER NOT NULL, paid INTEGER NOT NULL) STRICT`,
  'CREATE INDEX link_sale_held ON link_sale (link_id, invoice_id) WHERE holds = 1 AND paid = 0',
  `CREATE TABLE link_line (
    invoice_id INTEGER NOT NULL, item_id INTEGER NOT NULL, quantity INTEGER NOT NULL, price TEXT NOT NULL,
    PRIMARY KEY (invoice_id, item_id)) STRICT, WITHOUT ROWID`,
];
