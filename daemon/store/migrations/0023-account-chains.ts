/**
 * Balances of single addresses on account chains, payments between addresses of one account, and transactions that used
 * their nonce without effect; the money at an address of the sandbox. See `../schema.ts` and `../schema-withdrawals.ts` for the columns.
 *
 * `sum_units` adds decimal texts (`../migrations.ts`), because amounts in wei exceed SQLite's integers.
 */
export const ACCOUNT_CHAINS: readonly string[] = [
  `CREATE TABLE address_balance (
    target_id INTEGER NOT NULL, asset TEXT NOT NULL, account_id INTEGER NOT NULL, units TEXT NOT NULL,
    PRIMARY KEY (target_id, asset)) STRICT, WITHOUT ROWID`,
  `CREATE INDEX address_balance_largest
    ON address_balance (account_id, asset, length(units) DESC, units DESC)`,
  // earlier releases spent simulated coins there, and nothing else
  `INSERT INTO address_balance (target_id, asset, account_id, units)
    SELECT target_id, asset, account_id, sum_units(units) FROM credit
    WHERE counted = 1 AND (chain_key LIKE '%:ETH' OR chain_key LIKE '%:BSC')
    GROUP BY target_id, asset, account_id`,
  'ALTER TABLE used_key ADD COLUMN failed INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE spend ADD COLUMN subject TEXT',
  `UPDATE spend SET subject = conflict_key WHERE purpose = 'bump'`,
  `CREATE INDEX sandbox_output_unspent ON sandbox_output (chain, script, tx_id) WHERE spent_by IS NULL`,
  `CREATE INDEX spend_subject ON spend (chain_key, subject) WHERE state = 'open' AND subject IS NOT NULL`,
];
