/** The receiving addresses of an account in the order in which they are given out. */
export const PAID_INDICES: readonly string[] = [
  'CREATE INDEX target_receiving ON target (account_id, idx) WHERE branch = 0',
];
