/** What a restored appliance looks for: coins of ours that were spent after its backup was made. */
export const RESTORED: readonly string[] = [
  `CREATE INDEX credit_spent_height ON credit (chain_key, spent_block_height) WHERE spent_block_height IS NOT NULL`,
];
