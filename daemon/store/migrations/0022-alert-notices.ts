/**
 * Alerts that end by themselves, and the notices that channels sent about them. See `../schema-alerts.ts` for the
 * columns.
 */
export const ALERT_NOTICES: readonly string[] = [
  'ALTER TABLE alert ADD COLUMN ended_at INTEGER',
  `CREATE TABLE alert_notice (
    channel TEXT NOT NULL, alert_id INTEGER NOT NULL, state TEXT NOT NULL,
    PRIMARY KEY (channel, state, alert_id)) STRICT, WITHOUT ROWID`,
  `CREATE TABLE alert_told (
    channel TEXT NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, at INTEGER NOT NULL,
    PRIMARY KEY (channel, kind, subject)) STRICT, WITHOUT ROWID`,
];
