/**
 * Overpayments in the inbox: `units` is the part of the deposit that it is about. Null: the whole deposit, which no
 * invoice counts.
 */
export const OVERPAID: readonly string[] = [
  'ALTER TABLE inbox ADD COLUMN units TEXT',
  `CREATE INDEX inbox_overpaid ON inbox (invoice_id) WHERE reason = 'overpaid'`,
];
