/** Key images of Monero's coins, and the private keys of our own transactions. See `../schema-withdrawals.ts` for the columns. */
export const KEY_IMAGES: readonly string[] = [
  `CREATE TABLE key_image (
    key_image TEXT NOT NULL, chain_key TEXT NOT NULL, outpoint TEXT NOT NULL,
    from_height INTEGER NOT NULL, learned_at INTEGER NOT NULL, searched INTEGER NOT NULL,
    PRIMARY KEY (key_image, chain_key)) STRICT, WITHOUT ROWID`,
  'CREATE UNIQUE INDEX key_image_coin ON key_image (outpoint, chain_key)',
  'CREATE INDEX key_image_unsearched ON key_image (chain_key, from_height) WHERE searched = 0',
  'ALTER TABLE spend_version ADD COLUMN proof TEXT',
];
