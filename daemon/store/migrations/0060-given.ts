/** The addresses in the order in which they were given out, which a computer at home checks. See `../schema-given.ts`. */
export const GIVEN: readonly string[] = [
  'CREATE TABLE given (no INTEGER PRIMARY KEY, target_id INTEGER NOT NULL)',
  'INSERT INTO given (target_id) SELECT id FROM target WHERE invoice_id > 0 ORDER BY invoice_id, id',
];
