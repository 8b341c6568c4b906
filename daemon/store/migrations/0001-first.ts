/** The first schema. See `../schema.ts` for the columns. */
export const FIRST: readonly string[] = [
  `CREATE TABLE business (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT NOT NULL, network TEXT NOT NULL,
    time_zone TEXT NOT NULL, account_no INTEGER NOT NULL, created_at INTEGER NOT NULL,
    UNIQUE (network, account_no)) STRICT`,
  `CREATE TABLE business_asset (
    business_id INTEGER NOT NULL, asset TEXT NOT NULL, enabled INTEGER NOT NULL,
    PRIMARY KEY (business_id, asset)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE api_key (
    id INTEGER PRIMARY KEY, business_id INTEGER NOT NULL, name TEXT NOT NULL, hash BLOB NOT NULL UNIQUE,
    hint TEXT NOT NULL, scopes TEXT NOT NULL, created_at INTEGER NOT NULL, last_used_at INTEGER,
    revoked_at INTEGER) STRICT`,
  `CREATE TABLE client (
    id INTEGER PRIMARY KEY, public_id TEXT NOT NULL UNIQUE, business_id INTEGER NOT NULL, name TEXT NOT NULL,
    origins TEXT NOT NULL, url_hosts TEXT NOT NULL, created_at INTEGER NOT NULL, revoked_at INTEGER) STRICT`,
  `CREATE TABLE account (
    id INTEGER PRIMARY KEY, business_id INTEGER NOT NULL, chain_key TEXT NOT NULL, key TEXT NOT NULL,
    next_index INTEGER NOT NULL, birthday INTEGER, rescan TEXT, UNIQUE (business_id, chain_key)) STRICT`,
  `CREATE TABLE target (
    id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL, chain_key TEXT NOT NULL, branch INTEGER NOT NULL,
    idx INTEGER NOT NULL, script BLOB NOT NULL, address TEXT NOT NULL, invoice_id INTEGER,
    UNIQUE (script, chain_key)) STRICT`,
  `CREATE INDEX target_pool ON target (account_id, idx) WHERE invoice_id IS NULL AND branch = 0`,
  `CREATE TABLE invoice (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, slug TEXT NOT NULL UNIQUE, business_id INTEGER NOT NULL,
    origin TEXT NOT NULL, amount TEXT NOT NULL, tolerance TEXT NOT NULL, currency TEXT NOT NULL, crypto TEXT NOT NULL,
    status TEXT NOT NULL, due_at INTEGER NOT NULL, check_at INTEGER, close_url TEXT, redirect_url TEXT,
    webhook_url TEXT, automatic_redirect INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    deleted_at INTEGER) STRICT`,
  `CREATE INDEX invoice_check ON invoice (check_at) WHERE check_at IS NOT NULL`,
  `CREATE TABLE payment (
    invoice_id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, asset TEXT NOT NULL, target_id INTEGER NOT NULL,
    address TEXT NOT NULL, status TEXT NOT NULL, deadline_at INTEGER NOT NULL, check_at INTEGER,
    quote_rate TEXT NOT NULL, quote_amount TEXT NOT NULL, quote_issued_at INTEGER NOT NULL,
    quote_ends_at INTEGER NOT NULL, rates TEXT NOT NULL, received TEXT NOT NULL, confirmed TEXT NOT NULL,
    seen_value TEXT NOT NULL, confirmed_value TEXT NOT NULL, flags INTEGER NOT NULL, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX payment_check ON payment (chain_key, check_at) WHERE check_at IS NOT NULL`,
  `CREATE TABLE past_quote (
    invoice_id INTEGER NOT NULL, issued_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, rate TEXT NOT NULL,
    PRIMARY KEY (invoice_id, issued_at)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE credit (
    id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, outpoint TEXT NOT NULL, txid TEXT NOT NULL,
    target_id INTEGER NOT NULL, account_id INTEGER NOT NULL, invoice_id INTEGER, asset TEXT NOT NULL,
    units TEXT NOT NULL, inputs TEXT NOT NULL, block_height INTEGER, block_hash TEXT, block_time INTEGER,
    first_seen_at INTEGER NOT NULL, value TEXT, usd_value TEXT, required INTEGER NOT NULL, maturity INTEGER NOT NULL,
    locked INTEGER NOT NULL, replaceable INTEGER NOT NULL, confirmed INTEGER NOT NULL, settled INTEGER NOT NULL,
    counted INTEGER NOT NULL, gone INTEGER NOT NULL, claim TEXT, spent_txid TEXT, spent_block_hash TEXT, spent_block_height INTEGER,
    UNIQUE (outpoint, chain_key)) STRICT`,
  `CREATE INDEX credit_target ON credit (target_id)`,
  `CREATE INDEX credit_unsettled ON credit (chain_key) WHERE settled = 0 AND gone = 0`,
  `CREATE INDEX credit_unvalued ON credit (chain_key) WHERE (value IS NULL OR usd_value IS NULL) AND invoice_id IS NOT NULL AND gone = 0`,
  `CREATE INDEX credit_block ON credit (block_hash) WHERE block_hash IS NOT NULL`,
  `CREATE INDEX credit_spent_block ON credit (spent_block_hash) WHERE spent_block_hash IS NOT NULL`,
  `CREATE INDEX credit_spent_pool ON credit (chain_key) WHERE spent_txid IS NOT NULL AND spent_block_hash IS NULL`,
  `CREATE TABLE balance (
    account_id INTEGER NOT NULL, asset TEXT NOT NULL, units TEXT NOT NULL,
    PRIMARY KEY (account_id, asset)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE inbox (
    id INTEGER PRIMARY KEY, credit_id INTEGER NOT NULL UNIQUE, business_id INTEGER NOT NULL, invoice_id INTEGER,
    reason TEXT NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,
  `CREATE TABLE webhook (
    id INTEGER PRIMARY KEY, invoice_id INTEGER NOT NULL UNIQUE, url TEXT NOT NULL, state TEXT NOT NULL,
    created_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX webhook_waiting ON webhook (id) WHERE state = 'waiting'`,
  `CREATE TABLE webhook_attempt (
    id INTEGER PRIMARY KEY, webhook_id INTEGER NOT NULL, by_operator INTEGER NOT NULL, started_at INTEGER NOT NULL,
    finished_at INTEGER, status INTEGER, error TEXT) STRICT`,
  `CREATE INDEX webhook_attempt_of ON webhook_attempt (webhook_id)`,
  `CREATE TABLE alert (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, subject TEXT NOT NULL, message TEXT NOT NULL,
    created_at INTEGER NOT NULL, seen_at INTEGER) STRICT`,
  `CREATE UNIQUE INDEX alert_open ON alert (kind, subject) WHERE seen_at IS NULL`,
  `CREATE TABLE chain_state (
    chain_key TEXT PRIMARY KEY, checkpoint TEXT NOT NULL, synced_at INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `CREATE TABLE idempotency (
    business_id INTEGER NOT NULL, route TEXT NOT NULL, key TEXT NOT NULL, body_hash BLOB NOT NULL,
    status INTEGER NOT NULL, body TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER,
    PRIMARY KEY (business_id, route, key)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX idempotency_expiry ON idempotency (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE TABLE rate_snapshot (at INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT`,
  `CREATE TABLE sandbox_chain (
    chain TEXT PRIMARY KEY, down INTEGER NOT NULL, sequence INTEGER NOT NULL, pruned INTEGER NOT NULL,
    transactions INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  `CREATE TABLE sandbox_block (
    chain TEXT NOT NULL, height INTEGER NOT NULL, hash TEXT NOT NULL, time INTEGER NOT NULL,
    PRIMARY KEY (chain, height)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE sandbox_tx (
    id INTEGER PRIMARY KEY, chain TEXT NOT NULL, txid TEXT NOT NULL, raw TEXT, inputs TEXT NOT NULL,
    block_height INTEGER, created_at INTEGER NOT NULL, UNIQUE (chain, txid)) STRICT`,
  `CREATE INDEX sandbox_tx_block ON sandbox_tx (chain, block_height)`,
  `CREATE TABLE sandbox_output (
    chain TEXT NOT NULL, outpoint TEXT NOT NULL, tx_id INTEGER NOT NULL, script BLOB NOT NULL, asset TEXT NOT NULL,
    units TEXT NOT NULL, spent_by INTEGER, PRIMARY KEY (chain, outpoint)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX sandbox_output_tx ON sandbox_output (tx_id)`,
  `CREATE INDEX sandbox_output_spent ON sandbox_output (spent_by) WHERE spent_by IS NOT NULL`,
];
