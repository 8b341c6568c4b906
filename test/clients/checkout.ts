/** What a shop's developer writes with a client that was generated from the description. Compiled and run by a test. */
import createClient from 'openapi-fetch';
import type { components, paths } from './schema.d.ts';

type Payment = components['schemas']['Payment'];

/** The compiler knows that an invoice without a payment has no address. */
function addressOf(payment: Payment | object): string {
  return 'address' in payment ? payment.address : 'none yet';
}

const [url = '', key = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl: `${url}/api/v1`, headers: { 'MB-API-KEY': key } });

const made = await client.POST('/merchant/invoice', { body: { amount: 25, crypto: 'LTC', order_id: 'typed' } });
if (!made.data) throw new Error(JSON.stringify(made.error));
const { id } = made.data;
const invoice = { params: { path: { invoice_id: id } } };
const before = await client.GET('/merchant/invoice/{invoice_id}', invoice);
const paid = await client.POST('/merchant/invoice/rp/{invoice_id}', { ...invoice, body: {} });
const again = await client.POST('/merchant/invoice/rp/{invoice_id}', { ...invoice, body: {} });
const after = await client.GET('/merchant/invoice/{invoice_id}', invoice);
const found = await client.GET('/merchant/invoices', { params: { query: { order_id: 'typed', limit: '1' } } });
const told = {
  before: before.data && addressOf(before.data.payment),
  same: after.data && paid.data && addressOf(after.data.payment) === paid.data.address,
  again: again.error && 'error' in again.error ? again.error.error : null,
  found: found.data?.items.map((item) => item.id === id),
};
process.stdout.write(JSON.stringify(told));
