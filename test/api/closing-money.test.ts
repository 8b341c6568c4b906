/** The closing of the counter's day where more came than was asked for, where a reorganisation took a payment back, and with a tip. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';
import { refusal } from './operator-raw.ts';

const CONFIRMATIONS = 3;

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon('[networks.sandbox.rates]\nLTC = "80"\nEUR = "0.92"\n');
  operator = new Operator(service.dataDir);
  // a reserve, so that the fees of refunds can be paid
  await deposit(service, 'LTC', 800);
  await mine(12);
});
afterAll(() => service.stop());

const mine = (blocks = CONFIRMATIONS) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });
const next = async () => (await operator.call('closing.next', { business: '1' })).closing;
const cart = (more: object = {}) => ({
  business: 1,
  amount: '73.6',
  currency: 'EUR',
  note: null,
  tip: '3.6',
  request: randomUUID(),
  lines: [{ item: null, price: '70', quantity: 1, vat: 1900 }],
  ...more,
});

/** A sale of 73.60 EUR, one LTC, for which an amount of LTC came. */
async function sold(amount: string): Promise<{ invoice: string; tx_id: string }> {
  const { invoice } = await operator.call('counter.sell', cart());
  await operator.call('counter.choose', { invoice, crypto: 'LTC' });
  const { body } = await service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id: invoice, amount });
  await mine();
  await until('it is paid', async () => (await operator.call('invoice.show', { invoice })).invoice.status === 'paid');
  return { invoice, tx_id: body.tx_id };
}

it('an overpayment that went back lowers neither what was taken nor its tax', async () => {
  const { invoice } = await sold('1.5');
  const before = (await next()).parts[0]!;
  expect(before).toMatchObject({ taken: '73.6', difference: '36.8', refunds: { count: 0 } });
  const { items } = await operator.call('inbox.list', {});
  const { id } = items.find((one) => one.invoice === invoice)!;
  const { withdrawal } = await operator.call('inbox.refund', { id, address: stranger('LTC', 51) });
  expect(withdrawal.amount).toBe('0.5');
  await operator.carryOut({ kind: 'pay', id: `${withdrawal.id}` });
  await until('it is refunded', async () => {
    await mine();
    return (await next()).parts[0]!.refunds.count === 1;
  });
  expect((await next()).parts[0]).toMatchObject({
    taken: '73.6',
    difference: '0',
    refunds: { count: 1, sum: '0', unvalued: 0 },
    taxes: [{ rate: 1900, net: '58.82', tax: '11.18', gross: '70' }],
    kept_tips: '3.6',
  });
  await operator.call('closing.make', { business: '1', number: 1 });
});

it('a sale whose payment was undone waits for the closing after it is paid again', async () => {
  const { invoice, tx_id } = await sold('1');
  await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: CONFIRMATIONS });
  await service.call('POST', '/sandbox/double-spend', { tx_id });
  await mine(CONFIRMATIONS + 2);
  const isUndone = async (undone: boolean): Promise<boolean> => {
    const { body } = await service.call<{ payment: { undone: boolean } }>('GET', `/invoice/${invoice}`);
    return body.payment.undone === undone;
  };
  await until('it is undone', () => isUndone(true));
  const shown = async () => (await operator.call('counter.sale', { invoice })).sale;
  expect(await shown()).toMatchObject({ status: 'unpaid', received_value: '0' });
  // it was called paid by hand
  expect((await operator.call('invoice.explain', { invoice })).verdict).toBe('gone');
  const waiting = [{ invoice, amount: '73.6', currency: 'EUR' }];
  expect(await next()).toMatchObject({ number: 2, parts: [], books: { agree: 0 }, waiting });
  await operator.call('closing.make', { business: '1', number: 2 });
  await service.call('POST', '/sandbox/pay', { invoice_id: invoice, amount: '1' });
  await mine();
  await until('it is paid again', () => isUndone(false));
  expect((await shown()).status).toBe('paid');
  expect(await next()).toMatchObject({ number: 3, parts: [{ taken: '73.6', difference: '0' }], waiting: [] });
});

it('a tip above the amount is refused', async () => {
  const sale = cart({ amount: '10', tip: '20', lines: [] });
  expect(await refusal(service.dataDir, 'counter.sell', sale)).toMatchObject({ status: 400, code: 'validation' });
});
