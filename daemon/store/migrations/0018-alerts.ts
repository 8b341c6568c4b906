/** The network of an alert's subject. See `../schema.ts` for the column. */
export const ALERTS: readonly string[] = [
  'ALTER TABLE alert ADD COLUMN network TEXT',
  `CREATE INDEX alert_live ON alert ((network IS NOT NULL AND network <> 'mainnet'), id) WHERE seen_at IS NULL`,
  'CREATE INDEX alert_recent ON alert (kind, subject, created_at)',
];
