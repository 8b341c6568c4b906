/** Limits of each caller's share of common resources. See `../schema.ts` for the columns. */
export const SHARES: readonly string[] = [
  'ALTER TABLE api_key ADD COLUMN per_minute INTEGER',
  'ALTER TABLE client_invoice ADD COLUMN holder TEXT',
  'CREATE INDEX client_invoice_holder ON client_invoice (client_id, holder) WHERE holds = 1',
  `ALTER TABLE webhook ADD COLUMN lane TEXT NOT NULL DEFAULT 'shop'`,
  'DROP INDEX webhook_waiting',
  `CREATE INDEX webhook_waiting ON webhook (lane, id) WHERE state = 'waiting'`,
];
