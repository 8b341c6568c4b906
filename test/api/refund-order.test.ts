/**
 * The VAT of two refunds of one invoice: the overpaid part is in the one whose money left first, whichever was asked for first. The
 * takings of a day have the refunds whose money left on it.
 */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { stranger } from '../support/money.ts';
import { Operator } from '../support/operator.ts';

let service: TestDaemon;
let operator: Operator;
let shop: string;
beforeAll(async () => {
  service = await startTestDaemon('[networks.sandbox.rates]\nLTC = "80"\n');
  operator = new Operator(service.dataDir);
  shop = `${(await operator.call('business.list', {})).businesses[0]!.id}`;
});
afterAll(() => service?.stop());

const play = (action: object) => operator.call('sandbox.play', { business: shop, ...action } as never);
const mine = (blocks: number) => play({ action: 'mine', crypto: 'LTC', blocks });

/** A paid invoice of so many dollars; `sent`: what the payer sends, in LTC. */
async function paid(amount: number, sent: string): Promise<string> {
  const { id } = (await service.call<{ id: string }>('POST', '/invoice', { amount, crypto: 'LTC' })).body;
  await service.call('POST', `/invoice/rp/${id}`, {});
  await service.call('POST', '/sandbox/pay', { invoice_id: id, amount: sent });
  await mine(12);
  await until(
    'it is paid',
    async () => (await operator.call('invoice.show', { invoice: id })).invoice.status === 'paid',
  );
  return id;
}
async function asked(invoice: string, tag: number): Promise<number> {
  const wanted = { invoice, address: stranger('LTC', tag), amount: '0.5', crypto: 'LTC' };
  return (await operator.call('invoice.refund', wanted)).withdrawal.id;
}
async function carriedOut(id: number): Promise<void> {
  await operator.carryOut({ kind: 'pay', id: `${id}` });
  await until('it is sent', async () => (await operator.show(id)).state === 'broadcast');
  await mine(1);
  await until('it is confirmed', async () => (await operator.show(id)).state === 'completed');
}
/** The VAT cell of each refund in the export, by its withdrawal. */
async function cells(): Promise<Record<string, string>> {
  const { rows } = await operator.call('export.page', { business: shop, from: '2020-01-01', to: '2100-01-01' });
  return Object.fromEntries(
    rows
      .filter(({ refund_of }) => refund_of !== '')
      .filter(({ kind }) => kind === 'withdrawal')
      .map((row) => [row.reference, row.vat]),
  );
}

it('stays what it was when a refund that was asked for before leaves later', async () => {
  await paid(800, '10');
  // half of it is too much
  const invoice = await paid(40, '1');
  const [earlier, later] = [await asked(invoice, 51), await asked(invoice, 52)];
  await carriedOut(later);
  const first = await cells();
  expect(first).toEqual({ [later]: '' });
  service.advance(60_000);
  await carriedOut(earlier);
  expect(await cells()).toEqual({ [later]: '', [earlier]: 'none:-40:0' });
});

it('is in the takings of the day when its money left, also when its row changed on a later day', async () => {
  const refundsOf = async (by: 'day' | 'month') => {
    const { periods } = await operator.call('takings.list', { business: shop, by, periods: 10 });
    return periods.flatMap(({ period, refunds }) => (refunds.count > 0 ? [{ period, ...refunds }] : []));
  };
  const left = new Date(service.now()).toISOString().slice(0, 10);
  const before = await refundsOf('day');
  expect(before).toEqual([{ period: left, count: 2, usd: '80' }]);
  service.advance(3 * 86_400_000);
  const books = new Database(join(service.dataDir, 'countinghouse.db'));
  books.prepare("UPDATE withdrawal SET updated_at = ? WHERE state = 'completed'").run(service.now());
  books.close();
  expect(await refundsOf('day')).toEqual(before);
  service.advance(12 * 86_400_000);
  expect(await refundsOf('day')).toEqual([]);
  expect(await refundsOf('month')).toEqual([{ period: left.slice(0, 7), count: 2, usd: '80' }]);
});
