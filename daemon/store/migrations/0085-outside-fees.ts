/** The fees of transactions that the other wallet of a view-only account made. See `../schema-withdrawals.ts` for the columns. */
export const OUTSIDE_FEES: readonly string[] = [
  `CREATE TABLE outside_fee (
    txid TEXT NOT NULL, chain_key TEXT NOT NULL, account_id INTEGER NOT NULL, units TEXT NOT NULL,
    PRIMARY KEY (txid, chain_key)) STRICT, WITHOUT ROWID`,
];
