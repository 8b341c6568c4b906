/** Keeps each change of an entry that no block made. See `../schema-corrections.ts`. */
export const CORRECTIONS: readonly string[] = [
  `CREATE TABLE correction (
    id INTEGER PRIMARY KEY, chain_key TEXT NOT NULL, at INTEGER NOT NULL, kind TEXT NOT NULL, account_id INTEGER NOT NULL,
    target_id INTEGER NOT NULL, asset TEXT NOT NULL, units TEXT NOT NULL, ref TEXT NOT NULL, block_height INTEGER) STRICT`,
  'CREATE INDEX correction_chain ON correction (chain_key, id)',
];
