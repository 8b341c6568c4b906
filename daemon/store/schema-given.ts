/** The table of the addresses that were given out. */
import { int, made, maybe } from './columns.ts';

export const GIVEN_TABLES = {
  /**
   * A row for each address at the moment when an invoice takes it. No row is ever removed, so the numbers have no gaps. `invoice_id` is null
   * in those of earlier releases.
   */
  given: { no: made(int), target_id: int, invoice_id: maybe(int) },
};
