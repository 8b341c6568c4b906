/** Invoices by what somebody has to do about them: counts, the groups "needs you" and "expired", and sums of days. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { dayFromNow, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { strictCaller } from './operator-raw.ts';

const DAY_MS = 86_400_000;
let daemon: TestDaemon;
let call: ReturnType<typeof strictCaller>;
let business: string;
const made: Record<string, string> = {};

beforeAll(async () => {
  daemon = await startTestDaemon('[sandbox]\nblock_seconds = 0\n');
  call = strictCaller(daemon.dataDir);
  business = `${(await call('business.list', {})).businesses[0]!.id}`;
  for (const name of ['paid', 'second', 'over', 'short', 'expired', 'canceled', 'unchosen']) {
    const body = { amount: 60, currency: name === 'second' ? 'EUR' : 'USD', crypto: 'LTC' };
    const days = name === 'expired' || name === 'unchosen' ? 1 : 30;
    const { id } = (
      await daemon.call<{ id: string }>('POST', '/invoice', { ...body, due_date: dayFromNow(daemon, days) })
    ).body;
    made[name] = id;
    if (name !== 'unchosen') await daemon.call('POST', `/invoice/rp/${id}`, {});
  }
  const pay = (name: string, amount?: string): Promise<unknown> =>
    daemon.call('POST', '/sandbox/pay', { invoice_id: made[name], ...(amount && { amount }) });
  await Promise.all([pay('paid'), pay('second'), pay('over', '9'), pay('short', '0.1')]);
  await daemon.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 20 });
  await call('invoice.cancel', { invoice: made.canceled! });
});
afterAll(() => daemon?.stop());

const statusOf = async (name: string): Promise<string> =>
  (await call('invoice.show', { invoice: made[name]! })).invoice.status;

it('counts them, lists the groups page by page, and adds up a day', async () => {
  for (const name of ['paid', 'second', 'over']) {
    await until(`${name} is paid`, async () => (await statusOf(name)) === 'paid');
  }
  await until('the overpayment is in the inbox', async () => (await call('inbox.list', {})).items.length === 1);
  const begun = new Date(daemon.now()).toISOString();
  const from = new Date(daemon.now() - DAY_MS).toISOString();
  expect(await call('invoice.sums', { business, from, to: begun })).toEqual({
    payments: 3,
    amounts: expect.arrayContaining([
      { currency: 'USD', amount: '120' },
      { currency: 'EUR', amount: '60' },
    ]),
    whole: true,
  });
  expect(await call('invoice.sums', { business, from: begun, to: begun })).toMatchObject({ payments: 0, amounts: [] });
  const needsYou = await call('invoice.list', { business, only: 'needs-you', limit: 1 });
  expect(needsYou.invoices.map(({ slug }) => slug)).toEqual([made.short]);
  const rest = await call('invoice.list', { business, only: 'needs-you', limit: 1, before: needsYou.next! });
  expect([rest.invoices.map(({ slug }) => slug), rest.next]).toEqual([[made.over], null]);
  expect(await call('invoice.counts', { business })).toMatchObject({ expired: 0, canceled: 1, unpaid: 3, paid: 3 });
});

it('tells what has expired from what a person canceled', async () => {
  daemon.advance(12 * DAY_MS);
  await daemon.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 1 });
  await until('the time to pay is over', async () => (await statusOf('expired')) === 'canceled');
  await until('also where no coin was chosen', async () => (await statusOf('unchosen')) === 'canceled');
  const { invoices, next } = await call('invoice.list', { business, only: 'expired' });
  expect([invoices.map(({ slug, expired }) => [slug, expired]), next]).toEqual([
    [
      [made.unchosen, true],
      [made.expired, true],
    ],
    null,
  ]);
  expect((await call('invoice.show', { invoice: made.canceled! })).invoice.expired).toBe(false);
  expect(await call('invoice.counts', { business })).toEqual({
    unpaid: 1,
    paid: 3,
    canceled: 3,
    expired: 2,
    'needs-you': 2,
    most: 10_000,
  });
});

it('does not call expired what got money before a person canceled it', async () => {
  await call('invoice.cancel', { invoice: made.short! });
  expect((await call('invoice.show', { invoice: made.short! })).invoice).toMatchObject({
    status: 'canceled',
    expired: false,
  });
  expect(await call('invoice.counts', { business })).toMatchObject({ canceled: 4, expired: 2 });
  expect((await call('invoice.list', { business, only: 'expired' })).invoices).toHaveLength(2);
});

it('narrows a group by nothing else', async () => {
  await expect(call('invoice.list', { business, only: 'expired', status: 'paid' })).rejects.toThrow(
    '`only` takes a business, and no other filter',
  );
});
