/** Deposits that count as takings in the order of when they were first seen, which can be days after their block. */
export const TAKINGS: readonly string[] = [
  `CREATE INDEX credit_takings ON credit (first_seen_at, id) WHERE claim = 'invoice' AND confirmed = 1 AND gone = 0`,
];
