/** What a restore must know of withdrawals and addresses. See `../schema.ts` for what the columns mean. */
export const RESTORED_APPROVALS: readonly string[] = [
  'ALTER TABLE withdrawal ADD COLUMN may_be_paid INTEGER NOT NULL DEFAULT 0',
  `CREATE INDEX withdrawal_may_be_paid ON withdrawal (chain_key, id)
    WHERE may_be_paid = 1 AND state IN ('requested', 'approved')`,
];
