/** The entries in blocks in the order of their times, which the export for accounting reads in pages. */
export const ENTRIES_BY_TIME: readonly string[] = [
  `CREATE INDEX credit_time ON credit (coalesce(block_time, first_seen_at), id) WHERE block_height IS NOT NULL AND gone = 0`,
  `CREATE INDEX debit_time ON debit (at, id) WHERE block_hash IS NOT NULL`,
];
