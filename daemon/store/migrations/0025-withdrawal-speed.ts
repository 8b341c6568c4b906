/** How soon a withdrawal is to be confirmed. See `../schema-withdrawals.ts` for the column. */
export const WITHDRAWAL_SPEED: readonly string[] = [
  `ALTER TABLE withdrawal ADD COLUMN speed TEXT NOT NULL DEFAULT 'normal'`,
];
