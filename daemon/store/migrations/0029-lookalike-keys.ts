/** Renames the column that finds addresses which look alike. See `domain/policy.ts`. */
export const LOOKALIKE_KEYS: readonly string[] = [
  'ALTER TABLE withdrawal RENAME COLUMN face TO lookalike_key',
  'DROP INDEX withdrawal_face',
  'CREATE INDEX withdrawal_lookalike ON withdrawal (business_id, lookalike_key)',
  'ALTER TABLE address_book RENAME COLUMN face TO lookalike_key',
  'DROP INDEX address_book_face',
  'CREATE INDEX address_book_lookalike ON address_book (business_id, lookalike_key)',
];
