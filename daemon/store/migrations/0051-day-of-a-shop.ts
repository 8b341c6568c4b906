/**
 * Refunds of invoices by the time of their last change, for the takings of a period; and the currency of a business: an
 * ISO 4217 code, null until somebody chose one.
 */
export const DAY_OF_A_SHOP: readonly string[] = [
  `CREATE INDEX withdrawal_refunded ON withdrawal (business_id, updated_at)
    WHERE invoice_id IS NOT NULL AND state = 'completed'`,
  'ALTER TABLE brand ADD COLUMN currency TEXT',
];
