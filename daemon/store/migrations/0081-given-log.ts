/**
 * The list of given addresses is a log: it says to which invoice each went, and the rows of the addresses say so later, many at once
 * (`../lately.ts`). Those of before are in these rows already.
 */
export const GIVEN_LOG: readonly string[] = [
  'ALTER TABLE given ADD COLUMN invoice_id INTEGER',
  `INSERT INTO setting (key, value, updated_at)
   SELECT 'given_entered', CAST(coalesce(max(no), 0) AS TEXT), 0 FROM given`,
];
