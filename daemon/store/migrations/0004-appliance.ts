/** The appliance's own state: settings, quarantine, backups. See `../schema.ts` for the columns. */
export const APPLIANCE: readonly string[] = [
  'CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  'ALTER TABLE account ADD COLUMN jump_to_index INTEGER',
  'ALTER TABLE account ADD COLUMN jump_to_change INTEGER',
];
