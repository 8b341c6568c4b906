/** The tables by which the invoices of one business are found. Each is complete up to the setting `invoices_listed`. */
import { int, text, time } from './columns.ts';

export const LISTED_TABLES = {
  invoice_listed: { business_id: int, created_at: time, id: int },
  /** Those that have a reference of the shop. */
  invoice_ordered: { business_id: int, order_id: text, created_at: time, id: int },
};
