/** Calls of the API reference that the console sends: to the sandbox alone, and with keys that are not kept. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { openShop } from '../support/shop.ts';
import { refusal, strictCaller } from './operator-raw.ts';

let daemon: TestDaemon;
let call: ReturnType<typeof strictCaller>;
beforeAll(async () => {
  daemon = await startTestDaemon();
  call = strictCaller(daemon.dataDir);
});
afterAll(() => daemon.stop());

const attempt = async (operation: string, more: object = {}) => {
  const { body, ...rest } = await call('api.try', { business: '1', operation, ...more });
  return { ...rest, body: JSON.parse(body) as Record<string, unknown> };
};
const refused = (more: object) =>
  refusal(daemon.dataDir, 'api.try', { business: '1', operation: 'getInvoice', ...more });

it('does each kind of call: with a body, a parameter in the path, one in the query, a header, and as a page', async () => {
  const body = JSON.stringify({ amount: 25, currency: 'EUR' });
  const parameters = { 'Idempotency-Key': 'tried once' };
  const made = await attempt('createInvoice', { body, parameters });
  expect([made.status, made.request]).toEqual([201, 'POST /api/v1/merchant/invoice']);
  expect((await attempt('createInvoice', { body, parameters })).body.id).toBe(made.body.id);
  const invoice_id = `${made.body.id}`;
  expect((await attempt('getInvoice', { parameters: { invoice_id } })).body).toMatchObject({ amount: '25' });
  const list = await attempt('listInvoices', { parameters: { limit: '1' } });
  expect([list.status, list.request]).toEqual([200, 'GET /api/v1/merchant/invoices?limit=1']);
  const page = await attempt('browserGetInvoice', { parameters: { slug: invoice_id } });
  expect([page.status, page.body.amount]).toEqual([200, '25']);
  expect((await attempt('createInvoice', { body: '{' })).status).toBe(400);
});

it('sends only what the document has, below the API', async () => {
  for (const invoice_id of ['', '.', '..']) {
    expect(await refused({ parameters: { invoice_id } })).toMatchObject({ code: 'params' });
  }
  const away = await attempt('getInvoice', { parameters: { invoice_id: '../../../health?x=1#' } });
  expect([away.status, away.request]).toEqual([
    404,
    `GET /api/v1/merchant/invoice/${encodeURIComponent('../../../health?x=1#')}`,
  ]);
  expect(await refused({ operation: 'constructor' })).toMatchObject({ code: 'params' });
  const withCookie = { parameters: { invoice_id: 'x', Cookie: 'y' } };
  expect(await refused(withCookie)).toMatchObject({ code: 'params' });
  const split = { operation: 'createInvoice', parameters: { 'Idempotency-Key': 'a\r\nHost: evil' } };
  expect(await refused(split)).toMatchObject({ code: 'params' });
});

describe('a key', () => {
  it('of the call exists for the call only, and is stored nowhere', async () => {
    const before = await call('key.list', { revoked: true });
    expect((await attempt('listCryptos')).status).toBe(200);
    expect(await call('key.list', { revoked: true })).toEqual(before);
  });

  it('for real money, and one that is unknown or revoked, is never sent', async () => {
    const shop = await openShop(daemon);
    const operation = 'listCryptos';
    expect(await refused({ operation, key: shop.key })).toMatchObject({ code: 'key.network' });
    expect(await refused({ business: 'Regtest shop' })).toMatchObject({ code: 'params' });
    expect(await refused({ operation, key: 'ch_test_nothing' })).toMatchObject({ code: 'key.not_found' });
    const { key } = await call('key.add', { business: '1', name: 'tried', scopes: ['balance'] });
    expect((await attempt('getBalance', { key: key.key })).status).toBe(200);
    expect((await attempt('createInvoice', { key: key.key, body: '{"amount":25}' })).status).toBe(403);
    await call('key.revoke', { id: key.id });
    expect(await refused({ operation, key: key.key })).toMatchObject({ code: 'key.not_found' });
  });
});
