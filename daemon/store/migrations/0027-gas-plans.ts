/**
 * Plans to collect the money on deposit addresses of an account chain, and an index of what left an address. See
 * `../schema-withdrawals.ts` for the columns.
 */
export const GAS_PLANS: readonly string[] = [
  `CREATE TABLE gas_plan (
    account_id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, min_usd TEXT NOT NULL, price_max TEXT, fee_max TEXT NOT NULL,
    used TEXT NOT NULL, begins_at INTEGER NOT NULL, ends_at INTEGER NOT NULL, state TEXT NOT NULL, problem TEXT,
    created_at INTEGER NOT NULL) STRICT`,
  `CREATE INDEX gas_plan_open ON gas_plan (chain_key, account_id) WHERE state = 'open'`,
  `CREATE INDEX debit_target ON debit (target_id, asset) WHERE target_id IS NOT NULL AND block_hash IS NOT NULL`,
];
