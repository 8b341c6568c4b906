/** Refunds of invoices. See `../schema-withdrawals.ts` for the column. */
export const REFUNDS: readonly string[] = [
  'ALTER TABLE withdrawal ADD COLUMN invoice_id INTEGER',
  'CREATE INDEX withdrawal_invoice ON withdrawal (invoice_id) WHERE invoice_id IS NOT NULL',
];
