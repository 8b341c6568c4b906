/** Plans that collect at certain hours of each day, or only for withdrawals. See `../schema-withdrawals.ts` for the columns. */
export const GAS_SCHEDULE: readonly string[] = [
  'ALTER TABLE gas_plan ADD COLUMN only_needed INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE gas_plan ADD COLUMN day_from INTEGER',
  'ALTER TABLE gas_plan ADD COLUMN day_to INTEGER',
];
