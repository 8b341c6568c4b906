/** Indexes for lists and searches of the console: invoices by state and by amount, and addresses that were given out. */
export const CONSOLE: readonly string[] = [
  'CREATE INDEX invoice_status ON invoice (business_id, status, id)',
  'CREATE INDEX invoice_amount ON invoice (amount, id)',
  'CREATE INDEX target_address ON target (address) WHERE invoice_id IS NOT NULL',
];
