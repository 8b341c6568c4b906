/**
 * The former payment addresses of an invoice whose payer chose another asset, a contact for payers, and the assets that
 * they see first. See `../schema.ts` for the columns.
 */
export const CHECKOUT: readonly string[] = [
  `CREATE TABLE former_target (
    invoice_id INTEGER NOT NULL, asset TEXT NOT NULL, chain_key TEXT NOT NULL, target_id INTEGER NOT NULL,
    address TEXT NOT NULL, quote_rate TEXT NOT NULL, quote_amount TEXT NOT NULL, quote_ends_at INTEGER NOT NULL,
    rates TEXT NOT NULL, left_at INTEGER NOT NULL, open INTEGER NOT NULL,
    PRIMARY KEY (invoice_id, asset)) STRICT, WITHOUT ROWID`,
  'CREATE INDEX former_target_open ON former_target (chain_key, target_id) WHERE open = 1',
  'ALTER TABLE payment ADD COLUMN changes INTEGER NOT NULL DEFAULT 0',
  `CREATE TABLE past_quote_of_asset (
    invoice_id INTEGER NOT NULL, asset TEXT NOT NULL, issued_at INTEGER NOT NULL, ends_at INTEGER NOT NULL,
    rate TEXT NOT NULL, PRIMARY KEY (invoice_id, asset, issued_at)) STRICT, WITHOUT ROWID`,
  `INSERT INTO past_quote_of_asset SELECT q.invoice_id, p.asset, q.issued_at, q.ends_at, q.rate
    FROM past_quote q JOIN payment p ON p.invoice_id = q.invoice_id`,
  'DROP TABLE past_quote',
  'ALTER TABLE past_quote_of_asset RENAME TO past_quote',
  'ALTER TABLE brand ADD COLUMN contact TEXT',
  'ALTER TABLE brand ADD COLUMN favourites TEXT',
];
