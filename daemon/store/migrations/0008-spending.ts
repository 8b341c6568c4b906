/** Coins by value, and payments whose coins can vanish. See `../schema.ts` for the columns. */
export const SPENDING: readonly string[] = [
  `DROP INDEX credit_coin`,
  // of two decimals without leading zeros the longer one is larger; equal lengths sort by their digits
  `CREATE INDEX credit_coin ON credit (account_id, asset, length(units) DESC, units DESC)
    WHERE spent_txid IS NULL AND gone = 0`,
  `ALTER TABLE spend ADD COLUMN closed_height INTEGER`,
  // the closing height of earlier spends is unknown: any reorganisation reopens them, and the same facts close them
  // again
  `UPDATE spend SET closed_height = 2147483647 WHERE state <> 'open'`,
  `CREATE INDEX spend_closed ON spend (chain_key, closed_height) WHERE closed_height IS NOT NULL`,
  `CREATE INDEX spend_waiting ON spend (chain_key, id) WHERE state = 'waiting'`,
  `CREATE TABLE dead_tx (
    txid TEXT NOT NULL, chain_key TEXT NOT NULL, conflict_txid TEXT NOT NULL, block_height INTEGER NOT NULL,
    block_hash TEXT NOT NULL, PRIMARY KEY (txid, chain_key)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX dead_tx_block ON dead_tx (block_hash)`,
];
