/** Conflict keys in place of inputs, sizes that are not those of one family, and the asset of fees. See `../schema.ts`. */
export const CONFLICT_KEYS: readonly string[] = [
  'ALTER TABLE spend RENAME COLUMN anchor TO conflict_key',
  'DROP INDEX spend_anchor',
  'CREATE INDEX spend_by_key ON spend (conflict_key, chain_key)',
  'ALTER TABLE spend_input RENAME COLUMN outpoint TO conflict_key',
  'ALTER TABLE spend_input RENAME TO spend_key',
  'DROP INDEX spend_input_of',
  'CREATE INDEX spend_key_of ON spend_key (version_id)',
  'ALTER TABLE spend_version RENAME COLUMN vsize TO size',
  `ALTER TABLE withdrawal ADD COLUMN fee_asset TEXT NOT NULL DEFAULT ''`,
  // earlier fees were paid in the paid asset; tokens, which only the sandbox paid out, had no fee
  `UPDATE withdrawal SET fee_asset =
    CASE substr(chain_key, instr(chain_key, ':') + 1) WHEN 'ETH' THEN 'ETH' WHEN 'BSC' THEN 'BNB' ELSE asset END`,
  'DROP INDEX withdrawal_held',
  'CREATE INDEX withdrawal_held ON withdrawal (account_id, id) WHERE held = 1',
];
