/** Fields that the API ignores are told to developers: by name, a few of them, and without what they held. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IgnoredFields } from '../../daemon/app/shops/ignored.ts';
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

let daemon: TestDaemon;
beforeAll(async () => {
  daemon = await startTestDaemon();
});
afterAll(() => daemon.stop());

const ignored = async () => (await strictCaller(daemon.dataDir)('api.ignored', { business: '1' })).fields;

it('names the fields of requests that succeeded, and what they meant', async () => {
  expect(await ignored()).toEqual([]);
  const body = { amount: 25, orderid: 'A-1', note: 'secret words', webhookUrl: 'https://shop.example' };
  const made = await daemon.call<{ id: string; order_id: string | null }>('POST', '/invoice', body);
  expect([made.status, made.body.order_id ?? null]).toEqual([201, null]);
  await daemon.call('POST', '/invoice', { amount: 25, orderid: 'A-2' });
  await daemon.call('POST', `/invoice/rp/${made.body.id}`, { crypto: 'LTC', coin: 'LTC' });
  const fields = await ignored();
  const at = expect.stringMatching(/^20\d\d-.*Z$/);
  expect(fields).toEqual([
    { operation: 'requestPayment', field: 'coin', meant: null, times: 1, at },
    { operation: 'createInvoice', field: 'orderid', meant: 'order_id', times: 2, at },
    { operation: 'createInvoice', field: 'webhookUrl', meant: 'webhook_url', times: 1, at },
    { operation: 'createInvoice', field: 'note', meant: null, times: 1, at },
  ]);
  expect(JSON.stringify(fields)).not.toMatch(/secret words|A-1|shop\.example/);
});

it('names those of requests that were refused, and of refunds and withdrawals', async () => {
  await daemon.call('POST', '/withdraw', { amount: '1', crypto: 'LTC', to: 'x' });
  await daemon.call('POST', '/invoice/0123456789AB/refund', { adress: 'x' });
  const told = (await ignored()).map(({ operation, field }) => `${operation} ${field}`);
  expect(told.slice(0, 2)).toEqual(['refundInvoice adress', 'withdraw to']);
});

describe('what is kept', () => {
  const KNOWN = { order_id: 1 };

  it('is the latest twenty fields of each business', () => {
    const fields = new IgnoredFields(() => 5);
    for (let n = 0; n < 30; n++) fields.note(1, 'createInvoice', { [`field${n}`]: n, order_id: 'x' }, KNOWN);
    fields.note(2, 'createInvoice', { other: 1 }, KNOWN);
    expect(fields.list(1).map(({ field }) => field)).toEqual(Array.from({ length: 20 }, (_, n) => `field${29 - n}`));
    expect(fields.list(2)).toEqual([{ operation: 'createInvoice', field: 'other', meant: null, times: 1, at: 5 }]);
    expect(fields.list(3)).toEqual([]);
  });

  it('is no name that may be a secret, and nothing of a body that is no object', () => {
    const fields = new IgnoredFields(() => 5);
    const strange = ['x'.repeat(33), 'ch_live_9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c', 'two words', '<b>', '1', ''];
    for (const name of strange) fields.note(1, 'createInvoice', { [name]: 1 }, KNOWN);
    for (const body of [null, undefined, 'text', ['a'], 5]) fields.note(1, 'createInvoice', body, KNOWN);
    expect(fields.list(1)).toEqual([]);
  });

  it('comes from the first hundred fields of a request', () => {
    const fields = new IgnoredFields(() => 5);
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`?${n}`, n]));
    fields.note(1, 'createInvoice', { ...many, late: 1 }, KNOWN);
    expect(fields.list(1)).toEqual([]);
    fields.note(1, 'createInvoice', { early: 1, ...many }, KNOWN);
    expect(fields.list(1).map(({ field }) => field)).toEqual(['early']);
  });
});
