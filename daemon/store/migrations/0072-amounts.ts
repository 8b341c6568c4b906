/**
 * The amounts of invoices in the order of their numbers: a new invoice is written at the end of the index, whatever its amount, and a search
 * reads it from the newest one on.
 */
export const AMOUNTS: readonly string[] = [
  'DROP INDEX invoice_amount',
  'CREATE INDEX invoice_by_amount ON invoice (id, amount)',
];
