/**
 * The columns of the accountant's file, in their order. Imports rely on them: a column is never renamed, moved or removed, and a new one is
 * added at the end. `resources/docs/books.md` says what each means.
 */
import type { Result } from '../contract/operator.ts';

export type BookRow = Result<'export.page'>['rows'][number];

export const BOOK_COLUMNS = [
  'at',
  'day',
  'kind',
  'business',
  'network',
  'crypto',
  'amount',
  'currency',
  'value',
  'usd_value',
  'reference',
  'address',
  'tx_id',
  'order_id',
  'description',
  'refund_of',
  'book_currency',
  'book_rate',
  'book_value',
  'book_rate_at',
  'vat',
] as const satisfies readonly (keyof BookRow)[];
