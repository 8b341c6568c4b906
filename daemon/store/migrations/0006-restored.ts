/** The search of a restored appliance for our coins that were spent after its backup. */
export const RESTORED: readonly string[] = [
  `CREATE INDEX credit_spent_height ON credit (chain_key, spent_block_height) WHERE spent_block_height IS NOT NULL`,
];
