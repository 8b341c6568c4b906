/**
 * Stores the common facts of all credits of one transaction once: its value and its inputs. See `../schema.ts` for the
 * columns.
 */
export const DEPOSITS: readonly string[] = [
  `CREATE TABLE paying_tx (
    txid TEXT NOT NULL, chain_key TEXT NOT NULL, usd_value TEXT NOT NULL, outputs INTEGER NOT NULL,
    unvalued INTEGER NOT NULL, unread INTEGER NOT NULL, stale INTEGER NOT NULL,
    PRIMARY KEY (txid, chain_key)) STRICT, WITHOUT ROWID`,
  `INSERT INTO paying_tx (txid, chain_key, usd_value, outputs, unvalued, unread, stale)
    SELECT txid, chain_key, CAST(COALESCE(SUM(CAST(usd_value AS INTEGER)), 0) AS TEXT), COUNT(*), SUM(usd_value IS NULL), 0, 0
    FROM credit GROUP BY txid, chain_key`,
  `CREATE INDEX paying_tx_stale ON paying_tx (chain_key) WHERE stale = 1`,
  `CREATE TABLE paying_input (
    outpoint TEXT NOT NULL, chain_key TEXT NOT NULL, txid TEXT NOT NULL,
    PRIMARY KEY (outpoint, chain_key, txid)) STRICT, WITHOUT ROWID`,
  `INSERT OR IGNORE INTO paying_input (outpoint, chain_key, txid)
    SELECT json_each.value, credit.chain_key, credit.txid FROM credit, json_each(credit.inputs)`,
  `CREATE INDEX paying_input_tx ON paying_input (txid, chain_key)`,
  `ALTER TABLE credit DROP COLUMN inputs`,
  `ALTER TABLE credit ADD COLUMN inherited TEXT`,
  `ALTER TABLE credit ADD COLUMN gone_at INTEGER`,
  `UPDATE credit SET gone_at = first_seen_at WHERE gone = 1`,
  `CREATE INDEX credit_unconfirmed ON credit (chain_key) WHERE block_hash IS NULL AND gone = 0`,
  `CREATE INDEX credit_gone ON credit (chain_key, gone_at) WHERE gone = 1`,
  `CREATE INDEX credit_paying ON credit (target_id) WHERE gone = 0 AND (claim IS NULL OR claim = 'invoice')`,
  `ALTER TABLE chain_state ADD COLUMN ahead TEXT NOT NULL DEFAULT '[]'`,
];
