/** The table of the addresses that were given out. */
import { int, made, maybe } from './columns.ts';

export const GIVEN_TABLES = {
  /** A row for each address that an invoice takes, never removed: no gaps. `invoice_id`: null in earlier releases. */
  given: { no: made(int), target_id: int, invoice_id: maybe(int) },
};
