/** Counts of a business with many invoices: what they say, and that other requests run between their parts. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countInvoices, INVOICES_COUNTED_MAX, listGroup } from '../../../daemon/app/operator/invoices.ts';
import type { InvoiceStatus } from '../../../daemon/domain/payment.ts';
import { insertInvoice, insertPayment, invoiceById, paymentOf } from '../../../daemon/store/queries/invoices.ts';
import { Bench } from './bench.ts';

let bench: Bench;
const short: number[] = [];
let first: number;

beforeAll(async () => {
  bench = await Bench.open('BTC');
  ({ id: first } = await bench.invoice());
  const { store } = bench.app;
  const invoice = store.get(invoiceById, { id: first })!;
  const payment = store.get(paymentOf, { invoice_id: first })!;
  await store.write((tx) => {
    const add = (n: number, status: InvoiceStatus, received: bigint): void => {
      const id = first + n;
      tx.run(insertInvoice, { ...invoice, id, uuid: `u${n}`, slug: `s${n}`, status, updated_at: payment.deadline_at });
      tx.run(insertPayment, { ...payment, invoice_id: id, target_id: payment.target_id + n, received });
    };
    for (let n = 1; n <= 10_600; n++) add(n, 'canceled', n % 2 === 0 ? 1n : 0n);
    for (let n = 10_601; n <= 11_803; n++) {
      add(n, 'unpaid', n % 400 === 0 ? 1n : 0n);
      if (n % 400 === 0) short.unshift(first + n);
    }
  });
});
afterAll(() => bench.app.store.close());

it('counts each up to the limit, over the ends of its parts', async () => {
  let turns = 0;
  let over = false;
  const turn = (): void => {
    turns++;
    if (!over) setImmediate(turn);
  };
  setImmediate(turn);
  const counts = await countInvoices(bench.app, bench.app.directory.business(bench.businessId));
  over = true;
  expect(counts).toEqual({
    unpaid: 1_204,
    paid: 0,
    canceled: INVOICES_COUNTED_MAX,
    expired: INVOICES_COUNTED_MAX / 2,
    'needs-you': 3,
  });
  expect(turns).toBeGreaterThan(20);
});

it('lists those that wait, newest first', async () => {
  const business = bench.app.directory.business(bench.businessId);
  const page = await listGroup(bench.app, business, { only: 'needs-you', limit: 2, before: null });
  expect([page.lines.map(({ invoice }) => invoice.id), page.next]).toEqual([short.slice(0, 2), short[1]]);
});
