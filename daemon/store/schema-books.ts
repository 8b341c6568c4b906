/** The columns of an entry's rate in the currency of its business. See `schema.ts` for the tables. */
import { maybe, text, time, units } from './columns.ts';

export const BOOKED = {
  /** An ISO 4217 code; null: of a release before, or an entry that is in no export. */
  book_currency: maybe(text),
  /** 1e-8 of that currency a whole coin; null: no rate was known. */
  book_rate: maybe(units),
  /** When that rate was found. */
  book_rate_at: maybe(time),
};
