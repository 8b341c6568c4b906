/**
 * How many of its next times the operator left out: a time that is further ahead was set under a clock that was ahead. And the next index of an
 * extended public key that a plan sends to.
 */
export const FORWARDING_TIMES: readonly string[] = [
  'ALTER TABLE forward_plan ADD COLUMN left_out INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE forward_plan ADD COLUMN key_index INTEGER',
];
