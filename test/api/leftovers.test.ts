/** The coins that a withdrawal of everything would not move, because its fee would be more than what is there. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { formatDecimal, parseDecimal } from '../../daemon/domain/money.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';

let service: TestDaemon;
let operator: Operator;
beforeAll(async () => {
  service = await startTestDaemon();
  operator = new Operator(service.dataDir);
});
afterAll(() => service.stop());

const leftovers = async (): Promise<string[]> =>
  (await operator.call('business.leftovers', { business: '1' })).cryptos.toSorted();

/** Pays to the address of an invoice, and waits until the balance has it. */
async function receive(crypto: string, amount: string): Promise<void> {
  const before = await balanceOf(crypto);
  const { id } = (await service.call<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'ALL' })).body;
  await service.call('POST', `/invoice/rp/${id}`, { crypto });
  const { status } = await service.call('POST', '/sandbox/pay', { invoice_id: id, amount });
  expect(status).toBe(201);
  await service.call('POST', '/sandbox/mine', { crypto, blocks: 20 });
  await until('it is in the balance', async () => (await balanceOf(crypto)) > before);
}

async function balanceOf(crypto: string): Promise<number> {
  const { businesses } = await operator.call('business.list', {});
  return Number(businesses[0]!.balances.find((one) => one.crypto === crypto)?.amount ?? 0);
}

it('names none of what is not there', async () => {
  expect(await leftovers()).toEqual([]);
});

it('names what is worth less than its fee, in each family, until more comes', async () => {
  await receive('LTC', '0.00000001');
  await receive('XMR', '0.000000000001');
  await receive('ETH', '0.000000000000000001');
  await receive('USDT_ERC20', '0.000001');
  expect(await leftovers()).toEqual(['ETH', 'LTC', 'USDT_ERC20', 'XMR']);
  await receive('LTC', '1');
  await receive('XMR', '1');
  await receive('USDT_ERC20', '80');
  expect(await leftovers()).toEqual(['ETH']);
});

it('names the coin of addresses of which none has the fee, whatever they have together', async () => {
  const { desks } = await operator.call('gas.status', { business: '1' });
  // the sandbox takes the fee of a thousand units of gas
  const most = formatDecimal(parseDecimal(desks.find(({ coin }) => coin === 'ETH')!.price, 12)!, 18);
  await receive('ETH', most);
  await receive('ETH', most);
  expect(await balanceOf('ETH')).toBeGreaterThan(1.9 * Number(most));
  expect(await leftovers()).toContain('ETH');
  await receive('ETH', '0.1');
  expect(await leftovers()).not.toContain('ETH');
});
