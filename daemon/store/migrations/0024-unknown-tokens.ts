/**
 * Tokens that came to our addresses and that this program does not know, and the transaction that paid from inside a contract,
 * as an endpoint names it. See `../schema.ts` for the columns.
 */
export const UNKNOWN_TOKENS: readonly string[] = [
  `CREATE TABLE unknown_token (
    id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, target_id INTEGER NOT NULL, contract TEXT NOT NULL, symbol TEXT,
    decimals INTEGER, units TEXT NOT NULL, transfers INTEGER NOT NULL, txid TEXT NOT NULL, block_height INTEGER NOT NULL,
    first_seen_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL, UNIQUE (target_id, contract)) STRICT`,
  'ALTER TABLE credit ADD COLUMN via_txid TEXT',
];
