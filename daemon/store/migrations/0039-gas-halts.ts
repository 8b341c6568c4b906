/** Plans that halt when a payment to ourselves failed on the chain. See `../schema-withdrawals.ts` for the columns. */
export const GAS_HALTS: readonly string[] = [
  'ALTER TABLE gas_plan ADD COLUMN halted INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE gas_plan ADD COLUMN halted_by INTEGER NOT NULL DEFAULT 0',
];
