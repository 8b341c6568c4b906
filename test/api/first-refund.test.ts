/** A shop's first refund: its one payment is all that there is, and the network fee comes on top. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const LITOSHI = 100_000_000;
const ADDRESS = stranger('LTC', 7);

let service: TestDaemon;
let operator: Operator;
let invoice = '';
beforeAll(async () => {
  service = await startTestDaemon();
  operator = new Operator(service.dataDir);
  invoice = (await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' })).body.id;
  await service.call('POST', `/invoice/rp/${invoice}`, {});
  await service.call('POST', '/sandbox/pay', { invoice_id: invoice });
  await service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks: 3 });
  await until('it is paid', async () => {
    return (await operator.call('invoice.show', { invoice })).invoice.status === 'paid';
  });
});
afterAll(() => service.stop());

const units = (amount: string): number => Math.round(Number(amount) * LITOSHI);
const coins = (amount: number): string => (amount / LITOSHI).toFixed(8).replace(/0+$/, '');
const cost = async (amount: string, address = ADDRESS) =>
  (await operator.call('withdrawal.recipient', { business: '1', crypto: 'LTC', address, amount })).cost!;

it('names the fee, what is missing and what can be sent', async () => {
  const whole = await cost('1');
  expect(whole).toMatchObject({ fee_crypto: 'LTC', fee_on_top: true, available: '1', missing: whole.fee });
  expect(units(whole.fee)).toBeGreaterThan(0);
  const less = coins(LITOSHI - units(whole.fee));
  const refused = await service.call<{ message: string }>('POST', `/invoice/${invoice}/refund`, { address: ADDRESS });
  const message =
    `Insufficient balance: 1 LTC and a network fee of up to ${whole.fee} LTC are needed, 1 LTC is available, ` +
    `${whole.fee} LTC is missing. At most ${less} LTC can be sent now`;
  expect([refused.status, refused.body]).toEqual([400, { message, status: 'error' }]);

  expect((await cost(less)).missing).toBe('0');
  const asked = await operator.call('invoice.refund', { invoice, address: ADDRESS, amount: less, crypto: 'LTC' });
  expect(asked.withdrawal).toMatchObject({ amount: less, state: 'requested', origin: 'refund' });
  await operator.call('withdrawal.reject', { id: `${asked.withdrawal.id}` });
});

it('says nothing of the cost of an invalid address, or without an amount', async () => {
  expect(await cost('1', 'nowhere')).toBeNull();
  const { cost: none } = await operator.call('withdrawal.recipient', {
    business: '1',
    crypto: 'LTC',
    address: ADDRESS,
  });
  expect(none).toBeNull();
});

it('leaves the words of Withdraw as the contract has them', async () => {
  const { body } = await service.call('POST', '/withdraw', { amount: '1', crypto: 'LTC', address: ADDRESS });
  expect(body).toEqual({ message: 'Insufficient balance', status: 'error' });
});
