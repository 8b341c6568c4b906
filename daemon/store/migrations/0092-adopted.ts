/** The adopted balances of an address, which an entry that is found later belongs to. */
export const ADOPTED: readonly string[] = [
  `CREATE INDEX debit_adopted ON debit (target_id, asset, block_height) WHERE kind = 'adopted'`,
];
