/**
 * The deposits of the inbox that the operator is told of. `silent`: too small, or never to be moved. The limit is
 * `TOLD_FROM_USD` of `domain/payment.ts`, in 1e-8 dollars.
 */
export const INBOX_ALERTS: readonly string[] = [
  'ALTER TABLE inbox ADD COLUMN silent INTEGER NOT NULL DEFAULT 0',
  'ALTER TABLE inbox ADD COLUMN told INTEGER NOT NULL DEFAULT 0',
  `UPDATE inbox SET silent = 1 WHERE reason = 'locked' OR EXISTS (
    SELECT 1 FROM credit WHERE credit.id = inbox.credit_id AND CAST(credit.usd_value AS INTEGER) < 100000000)`,
  `CREATE INDEX inbox_waiting ON inbox (business_id, told, id) WHERE state = 'open' AND silent = 0`,
];
