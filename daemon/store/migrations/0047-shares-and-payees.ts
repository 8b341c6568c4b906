/** Which /56 and /48 an invoice's address is held from, and who was paid by whose approval. See `../schema.ts` for the columns. */
export const SHARES_AND_PAYEES: readonly string[] = [
  'ALTER TABLE client_invoice ADD COLUMN holder_site TEXT',
  'ALTER TABLE client_invoice ADD COLUMN holder_provider TEXT',
  'CREATE INDEX client_invoice_site ON client_invoice (client_id, holder_site) WHERE holds = 1',
  'CREATE INDEX client_invoice_provider ON client_invoice (client_id, holder_provider) WHERE holds = 1',
  'DROP INDEX withdrawal_lookalike',
  'CREATE INDEX withdrawal_payee ON withdrawal (business_id, lookalike_key, address, approved_by, state)',
  `CREATE INDEX withdrawal_approved_payee ON withdrawal (business_id, lookalike_key, address)
    WHERE approved_by = 'operator' AND state = 'completed'`,
];
