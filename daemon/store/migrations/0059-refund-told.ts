/** The event of a refund is sent once. See `../schema-withdrawals.ts` for the column. */
export const REFUND_TOLD: readonly string[] = [
  'ALTER TABLE withdrawal ADD COLUMN refund_told INTEGER NOT NULL DEFAULT 0',
];
