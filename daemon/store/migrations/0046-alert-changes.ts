/** When the cause of an open alert last changed. */
export const ALERT_CHANGES: readonly string[] = ['ALTER TABLE alert ADD COLUMN changed_at INTEGER'];
