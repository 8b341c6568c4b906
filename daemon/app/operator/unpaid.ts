/**
 * The unpaid invoices of a business. Those of all businesses stand together in one index, so it is read a slice after the other: a million of
 * others cost a tenth of a second, with requests between.
 */
import type { InvoiceRow } from '../../store/queries/invoices.ts';
import { sliceOfUnpaid, unpaidBetween } from '../../store/queries/operator.ts';
import type { Reader } from '../../store/store.ts';

/** Entries of the index per slice: of one business, they are rows to be read, too, which takes a few milliseconds. */
const UNPAID_PER_SLICE = 1_000;

/** A range of ids, the second excluded, in which a business has `n` unpaid invoices. */
export type UnpaidSlice = { business_id: number; from: number; below: number; n: number };

/** The ranges, the newest first, that together have every unpaid invoice of a business below an id. */
export async function* unpaidSlices(store: Reader, business_id: number, before: number): AsyncGenerator<UnpaidSlice> {
  for (let below = before; ; ) {
    const { n, from, own } = store.get(sliceOfUnpaid, { business_id, below, limit: UNPAID_PER_SLICE })!;
    if (from === null) return;
    if (own > 0) yield { business_id, from, below, n: own };
    if (n < UNPAID_PER_SLICE) return;
    below = from;
    await new Promise(setImmediate);
  }
}

/** The newest unpaid invoices of a business below an id, at most `limit`. */
export async function listUnpaid(
  store: Reader,
  business_id: number,
  before: number,
  limit: number,
): Promise<InvoiceRow[]> {
  const rows: InvoiceRow[] = [];
  for await (const { from, below } of unpaidSlices(store, business_id, before)) {
    rows.push(...store.all(unpaidBetween, { business_id, from, below, limit: limit - rows.length }));
    if (rows.length === limit) break;
  }
  return rows;
}
