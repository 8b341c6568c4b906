/** A closing has what was paid, whatever else was begun at the counter. */
import { expect, it } from 'vitest';
import { withAddress } from '../../../daemon/app/addresses/pool.ts';
import { findInvoice } from '../../../daemon/app/invoices/invoices.ts';
import { requestPayment } from '../../../daemon/app/invoices/payments.ts';
import { nextClosing } from '../../../daemon/app/operator/closing.ts';
import { sellCart } from '../../../daemon/app/operator/sell-items.ts';
import { openSales } from '../../../daemon/store/queries/counter.ts';
import { Bench } from './bench.ts';

it('older sales that nobody pays take no place of a paid one', async () => {
  const bench = await Bench.open();
  const { app, businessId } = bench;
  const business = app.directory.business(businessId);
  const sell = (request: string) =>
    withAddress(app, (tx) => {
      const sale = { request, amount: '100', currency: 'USD', note: null, tip: '0', lines: [] };
      const { slug } = sellCart(app, tx, business, sale);
      return requestPayment(app, business, findInvoice(tx, slug), () => 'BTC', tx);
    });
  await sell('left');
  const { target_id, quote_amount, invoice_id } = await sell('paid');
  await bench.tell({ blocks: 1, credits: () => [bench.credit(target_id, quote_amount, 0)] });
  const [first] = app.store.all(openSales, { business_id: businessId, status: 'paid', limit: 1 });
  expect(first?.invoice_id).toBe(invoice_id);
  const { parts, waiting } = nextClosing(app, business).report;
  expect([parts.map(({ sales }) => sales.count), waiting]).toEqual([[1], []]);
});
