/** The appearance of a business to its payers. See `../schema.ts` for the columns. */
export const BRANDING: readonly string[] = [
  `CREATE TABLE brand (
    business_id INTEGER PRIMARY KEY, display_name TEXT, accent TEXT, logo_id TEXT) STRICT`,
  `CREATE TABLE logo (id TEXT PRIMARY KEY, type TEXT NOT NULL, bytes BLOB NOT NULL) STRICT`,
];
