/**
 * The receiving addresses of an account that were given out, by index. Ready ones are left out: the index of those serves other
 * statements, and SQLite would take this one for them.
 */
export const PAID_INDICES: readonly string[] = [
  'CREATE INDEX target_receiving ON target (account_id, idx) WHERE branch = 0 AND invoice_id IS NOT NULL',
];
