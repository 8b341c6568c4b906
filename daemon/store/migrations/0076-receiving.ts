/**
 * All receiving addresses of an account by index, ready or given out: an address is written into this index when it is derived, beside its
 * neighbours, and not once more when it is given out. `idx >= 0` is always true. It keeps the index from the statements about ready
 * addresses, which do not say it and have an index of their own.
 */
export const RECEIVING: readonly string[] = [
  'DROP INDEX target_receiving',
  'CREATE INDEX target_receiving ON target (account_id, idx) WHERE branch = 0 AND idx >= 0',
];
