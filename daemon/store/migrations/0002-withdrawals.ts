/** Withdrawals, their signed transactions, policies and the address book. See `../schema.ts` for the columns. */
export const WITHDRAWALS: readonly string[] = [
  // AUTOINCREMENT: an id is never given twice, and a restore can jump ahead in sqlite_sequence
  `CREATE TABLE withdrawal (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uuid TEXT NOT NULL UNIQUE, business_id INTEGER NOT NULL,
    account_id INTEGER NOT NULL, chain_key TEXT NOT NULL, asset TEXT NOT NULL, origin TEXT NOT NULL,
    units TEXT NOT NULL, sweep INTEGER NOT NULL, fee_held TEXT NOT NULL, address TEXT NOT NULL, face TEXT NOT NULL,
    outpoint TEXT, inbox_id INTEGER, state TEXT NOT NULL, held INTEGER NOT NULL, reason TEXT, usd_value TEXT,
    approved_by TEXT, approved_at INTEGER, approval TEXT, deadline_at INTEGER, spend_id INTEGER,
    cancel INTEGER NOT NULL, fee TEXT, txid TEXT, problem TEXT, created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX withdrawal_business ON withdrawal (business_id, id)`,
  `CREATE INDEX withdrawal_face ON withdrawal (business_id, face)`,
  `CREATE INDEX withdrawal_held ON withdrawal (account_id, asset) WHERE held = 1`,
  `CREATE INDEX withdrawal_approved ON withdrawal (chain_key, id) WHERE state = 'approved'`,
  `CREATE INDEX withdrawal_waiting ON withdrawal (business_id, id) WHERE state IN ('requested', 'approved')`,
  `CREATE INDEX withdrawal_deadline ON withdrawal (deadline_at) WHERE deadline_at IS NOT NULL`,
  `CREATE INDEX withdrawal_spend ON withdrawal (spend_id) WHERE spend_id IS NOT NULL`,
  `CREATE INDEX withdrawal_by_policy ON withdrawal (business_id, approved_at) WHERE approved_by = 'policy'`,
  `CREATE TABLE spend (
    id INTEGER PRIMARY KEY, account_id INTEGER NOT NULL, chain_key TEXT NOT NULL, asset TEXT NOT NULL,
    purpose TEXT NOT NULL, anchor TEXT NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX spend_open ON spend (chain_key, id) WHERE state = 'open'`,
  `CREATE INDEX spend_anchor ON spend (anchor, chain_key)`,
  `CREATE TABLE spend_version (
    id INTEGER PRIMARY KEY, spend_id INTEGER NOT NULL, chain_key TEXT NOT NULL, kind TEXT NOT NULL, plan TEXT NOT NULL,
    approval TEXT, txid TEXT, raw TEXT, fee TEXT NOT NULL, vsize INTEGER NOT NULL, created_at INTEGER NOT NULL,
    signed_at INTEGER, sent_at INTEGER, problem TEXT, UNIQUE (txid, chain_key)) STRICT`,
  `CREATE INDEX spend_version_of ON spend_version (spend_id, id)`,
  `CREATE TABLE spend_input (
    outpoint TEXT NOT NULL, chain_key TEXT NOT NULL, version_id INTEGER NOT NULL,
    PRIMARY KEY (outpoint, chain_key, version_id)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX spend_input_of ON spend_input (version_id)`,
  `CREATE TABLE spend_payout (
    version_id INTEGER NOT NULL, withdrawal_id INTEGER NOT NULL, units TEXT NOT NULL,
    PRIMARY KEY (version_id, withdrawal_id)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE policy (
    business_id INTEGER PRIMARY KEY, mode TEXT NOT NULL, per_withdrawal_usd TEXT, per_day_usd TEXT,
    address_book_only INTEGER NOT NULL, updated_at INTEGER NOT NULL) STRICT`,
  `CREATE TABLE address_book (
    id INTEGER PRIMARY KEY, business_id INTEGER NOT NULL, chain TEXT NOT NULL, address TEXT NOT NULL,
    label TEXT NOT NULL, face TEXT NOT NULL, created_at INTEGER NOT NULL,
    UNIQUE (business_id, chain, address)) STRICT`,
  `CREATE INDEX address_book_face ON address_book (business_id, face)`,
  `CREATE TABLE previous_tx (
    txid TEXT NOT NULL, chain_key TEXT NOT NULL, base BLOB NOT NULL,
    PRIMARY KEY (txid, chain_key)) STRICT, WITHOUT ROWID`,
  `ALTER TABLE account ADD COLUMN next_change INTEGER NOT NULL DEFAULT 0`,
  `ALTER TABLE credit ADD COLUMN own_change INTEGER NOT NULL DEFAULT 0`,
  `CREATE INDEX credit_coin ON credit (account_id, asset, id) WHERE spent_txid IS NULL AND gone = 0`,
  `ALTER TABLE inbox ADD COLUMN withdrawal_id INTEGER`,
];
