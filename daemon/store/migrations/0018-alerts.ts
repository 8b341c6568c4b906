/** On which network an alert's subject is. See `../schema.ts` for what the column means. */
export const ALERTS: readonly string[] = [
  'ALTER TABLE alert ADD COLUMN network TEXT',
  `CREATE INDEX alert_live ON alert ((network IS NOT NULL AND network <> 'mainnet'), id) WHERE seen_at IS NULL`,
  'CREATE INDEX alert_recent ON alert (kind, subject, created_at)',
];
