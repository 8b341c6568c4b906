/** The client ID that made an invoice. See `../schema.ts` for the columns. */
export const CLIENTS: readonly string[] = [
  `CREATE TABLE client_invoice (
    invoice_id INTEGER PRIMARY KEY, client_id INTEGER NOT NULL, holds INTEGER NOT NULL) STRICT`,
  `CREATE INDEX client_invoice_held ON client_invoice (client_id) WHERE holds = 1`,
];
