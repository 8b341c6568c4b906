/** Finds the debits that account chains report, chain by chain. See `reportedDebitsAbove` in `../queries/debits.ts`. */
export const REPORTED_DEBITS: readonly string[] = [
  `CREATE INDEX debit_reported ON debit (chain_key, id) WHERE target_id IS NOT NULL`,
];
