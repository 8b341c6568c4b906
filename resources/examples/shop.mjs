// A whole shop: one page, one invoice for each order, and delivery once the service says that it is paid. It needs no library.
// Run: API=http://127.0.0.1:8480/api/v1/merchant KEY=ch_test_… PORT=3001 node shop.mjs
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const { API, KEY, PORT = '3001' } = process.env;
const HERE = `http://127.0.0.1:${PORT}`;
const PRICE = '25';
const orders = new Map(); // in a real shop: the database

async function ask(method, path, body, repeatable) {
  const headers = { 'MB-API-KEY': KEY, 'Content-Type': 'application/json' };
  if (repeatable) headers['Idempotency-Key'] = repeatable; // asked twice, still one invoice
  const answer = await fetch(`${API}/${path}`, { method, headers, body: body && JSON.stringify(body) });
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.message ?? json.error);
  return json;
}

async function buy() {
  const order = randomUUID();
  const about = { amount: PRICE, currency: 'USD', order_id: order, close_url: `${HERE}/order/${order}` };
  const { id, invoice_url } = await ask('POST', 'invoice', about, order);
  orders.set(order, id);
  return { status: 303, location: invoice_url };
}

/** The payer's browser proves nothing: the service is asked, and the amount compared. */
async function show(order) {
  const invoice = orders.has(order) && (await ask('GET', `invoice/${orders.get(order)}`));
  if (!invoice) return { status: 404, text: 'There is no such order.' };
  const isPaid = invoice.status === 'paid' && !invoice.payment.undone && Number(invoice.amount) === Number(PRICE);
  if (isPaid) return { status: 200, text: 'Paid. Thank you!' };
  return { status: 200, text: `Not paid yet. <a href="${invoice.invoice_url}">To the payment</a>` };
}

createServer(async (request, response) => {
  const order = /^\/order\/([0-9a-f-]{36})$/.exec(request.url)?.[1];
  const front = { status: 200, text: `<form method="post" action="/buy"><button>Buy for ${PRICE} USD</button></form>` };
  const work = async () => {
    if (request.method === 'POST' && request.url === '/buy') return buy();
    return order ? show(order) : front;
  };
  const sorry = (error) => ({ status: 502, text: `Try again later. (${error.message})` });
  const { status, text = '', location } = await work().catch(sorry);
  response
    .writeHead(status, { 'Content-Type': 'text/html; charset=utf-8', ...(location && { Location: location }) })
    .end(text);
}).listen(Number(PORT), '127.0.0.1');
