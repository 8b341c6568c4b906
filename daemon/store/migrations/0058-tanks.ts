/** The index of an account's tank, which an operator can change. Every tank is watched before all other addresses. */
export const TANKS: readonly string[] = [
  'ALTER TABLE account ADD COLUMN tank INTEGER NOT NULL DEFAULT 0',
  'DROP INDEX target_tank',
  'CREATE INDEX target_tank ON target (account_id) WHERE branch = 1 AND idx < 8',
];
