/** Whether a forwarding plan waits for an hour in which gas is cheap, and since when it waits now; null: it does not. */
export const CHEAP_HOURS: readonly string[] = [
  'ALTER TABLE forward_plan ADD COLUMN cheap INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE forward_plan ADD COLUMN cheap_since INTEGER',
];
