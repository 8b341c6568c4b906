/**
 * Facts about withdrawals and addresses that a restore needs, and the times that the books keep. See `../schema.ts` for
 * the columns.
 */
export const RESTORED_APPROVALS: readonly string[] = [
  'ALTER TABLE withdrawal ADD COLUMN may_be_paid INTEGER NOT NULL DEFAULT 0',
  `CREATE INDEX withdrawal_may_be_paid ON withdrawal (chain_key, id)
    WHERE may_be_paid = 1 AND state IN ('requested', 'approved')`,
  `CREATE TABLE skipped (
    account_id INTEGER NOT NULL, branch INTEGER NOT NULL, from_index INTEGER NOT NULL, to_index INTEGER NOT NULL,
    reached INTEGER NOT NULL, PRIMARY KEY (account_id, branch, from_index)) STRICT, WITHOUT ROWID`,
  // an unfinished jump continues as a range
  `INSERT INTO skipped SELECT id, 0, next_index, jump_to_index, next_index FROM account WHERE jump_to_index > next_index`,
  `INSERT INTO skipped SELECT id, 1, next_change, jump_to_change, next_change FROM account
    WHERE jump_to_change > next_change`,
  `UPDATE account SET next_index = max(next_index, coalesce(jump_to_index, 0)),
    next_change = max(next_change, coalesce(jump_to_change, 0))`,
  'ALTER TABLE account DROP COLUMN jump_to_index',
  'ALTER TABLE account DROP COLUMN jump_to_change',
  'ALTER TABLE account ADD COLUMN gap INTEGER',
  'ALTER TABLE account ADD COLUMN used_index INTEGER NOT NULL DEFAULT -1',
  'ALTER TABLE account ADD COLUMN used_change INTEGER NOT NULL DEFAULT -1',
  'ALTER TABLE account ADD COLUMN ready_index INTEGER',
  'ALTER TABLE account ADD COLUMN ready_change INTEGER',
  'ALTER TABLE account ADD COLUMN past_until INTEGER',
  // a history that is being read is read again from its beginning, in both branches
  `UPDATE account SET rescan = '[]', gap = 1000,
    used_index = coalesce((SELECT max(target.idx) FROM target JOIN credit ON credit.target_id = target.id
      WHERE target.account_id = account.id AND target.branch = 0), -1)
    WHERE rescan IS NOT NULL`,
  'CREATE INDEX credit_spender ON credit (spent_txid, chain_key) WHERE spent_txid IS NOT NULL',
  `CREATE TABLE booked_spend (
    txid TEXT NOT NULL, chain_key TEXT NOT NULL, at INTEGER NOT NULL, usd_rate TEXT,
    PRIMARY KEY (txid, chain_key)) STRICT, WITHOUT ROWID`,
  // earlier spends get the time that was kept, and the value of their withdrawal when it was requested
  `INSERT INTO booked_spend
    SELECT credit.spent_txid, credit.chain_key,
      coalesce(
        (SELECT max(updated_at) FROM withdrawal
          WHERE withdrawal.txid = credit.spent_txid AND withdrawal.chain_key = credit.chain_key),
        max(spend_version.sent_at), max(spend_version.created_at), max(credit.first_seen_at)), NULL
    FROM credit LEFT JOIN spend_version
      ON spend_version.txid = credit.spent_txid AND spend_version.chain_key = credit.chain_key
    WHERE credit.spent_block_hash IS NOT NULL GROUP BY credit.spent_txid, credit.chain_key`,
];
