/** Refunds after a reorganisation: no money goes back that is not there any more, and none instead of it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { deposit, stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

const CONFIRMATIONS = 3;
const ADDRESS = stranger('LTC', 7);

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon('trusted_proxies = ["127.0.0.1"]\n');
  operator = new Operator(service.dataDir);
  // buried deeper than any reorganisation here, and enough to pay a refund out of somebody else's money
  await deposit(service, 'LTC', 800);
  await mine(12);
});
afterAll(() => service.stop());

const mine = (blocks = CONFIRMATIONS) => service.call('POST', '/sandbox/mine', { crypto: 'LTC', blocks });
const shown = async (invoice: string) => (await operator.call('invoice.show', { invoice })).invoice;
const itemOf = async (invoice: string) =>
  (await operator.call('inbox.list', {})).items.find((one) => one.invoice === invoice)!;
const pay = async (invoice_id: string, amount: string): Promise<string> =>
  (await service.call<{ tx_id: string }>('POST', '/sandbox/pay', { invoice_id, amount })).body.tx_id;

/** A paid invoice of 80 USD, one LTC, with the transactions that paid these amounts of LTC, all in the last blocks. */
async function paid(...amounts: string[]): Promise<{ invoice: string; txs: string[] }> {
  const { body } = await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
  await service.call('POST', `/invoice/rp/${body.id}`, {});
  const txs: string[] = [];
  for (const amount of amounts) txs.push(await pay(body.id, amount));
  await mine();
  await until('it is paid', async () => (await shown(body.id)).status === 'paid');
  return { invoice: body.id, txs };
}

const payment = async (invoice: string) =>
  (await service.call<{ payment: { received: string; confirmed: string } }>('GET', `/invoice/${invoice}`)).body.payment;

/** Takes the last blocks back: one transaction loses its place for good, the others are mined again. */
async function lose(invoice: string, tx_id: string, left: string): Promise<void> {
  await service.call('POST', '/sandbox/reorg', { crypto: 'LTC', depth: CONFIRMATIONS });
  expect((await service.call('POST', '/sandbox/double-spend', { tx_id })).status).toBe(200);
  await mine(CONFIRMATIONS + 2);
  await until(`${left} LTC are confirmed`, async () => {
    const { received, confirmed } = await payment(invoice);
    return received === left && confirmed === left;
  });
}

describe('an overpayment of which a deposit vanished', () => {
  it('is not sent back out of the price', async () => {
    const { invoice, txs } = await paid('1', '0.4');
    const { id } = await itemOf(invoice);
    expect((await shown(invoice)).over).toMatchObject({ amount: '0.4' });
    await lose(invoice, txs[0]!, '0.4');
    expect((await shown(invoice)).over).toBeNull();
    const refused = { code: 'refund.nothing' };
    await expect(operator.call('inbox.refund', { id, address: ADDRESS })).rejects.toMatchObject(refused);
    await expect(operator.call('refundLink.make', { inbox: id })).rejects.toMatchObject(refused);
    // a refund of what is there is the shop's decision, and decides nothing about the difference
    const { body } = await service.call<{ id: string }>('POST', `/invoice/${invoice}/refund`, { address: ADDRESS });
    expect((await itemOf(invoice)).state).toBe('open');
    await operator.call('withdrawal.reject', { id: body.id });
  });

  it('goes back as far as it stands', async () => {
    const { invoice, txs } = await paid('0.3', '1.1');
    const { id } = await itemOf(invoice);
    await lose(invoice, txs[0]!, '1.1');
    expect((await shown(invoice)).over).toMatchObject({ amount: '0.1' });
    const { withdrawal } = await operator.call('inbox.refund', { id, address: ADDRESS });
    expect(withdrawal.amount).toBe('0.1');
    await operator.call('withdrawal.reject', { id: `${withdrawal.id}` });
  });

  it('goes back less what went back before', async () => {
    const { invoice } = await paid('1.4');
    const { id } = await itemOf(invoice);
    const part = { address: ADDRESS, amount: '0.3' };
    const { body } = await service.call<{ id: string }>('POST', `/invoice/${invoice}/refund`, part);
    const { withdrawal } = await operator.call('inbox.refund', { id, address: ADDRESS });
    expect([withdrawal.amount, (await itemOf(invoice)).state]).toEqual(['0.1', 'refunding']);
    for (const one of [body.id, `${withdrawal.id}`]) await operator.call('withdrawal.reject', { id: one });
  });
});
