/** Refunds of invoices by the time of their last change, for the takings of a period. */
export const REFUNDS_BY_TIME: readonly string[] = [
  `CREATE INDEX withdrawal_refunded ON withdrawal (business_id, updated_at)
    WHERE invoice_id IS NOT NULL AND state = 'completed'`,
];
