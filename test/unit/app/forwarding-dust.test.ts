/** Tokens that are worth less than their gas: anybody can send them to the addresses of a shop. */
import { expect, it } from 'vitest';
import { type Forecast, forecast } from '../../../daemon/app/forwarding/run.ts';
import { coinReserve } from '../../../daemon/app/gas/reserve.ts';
import { tankOf } from '../../../daemon/app/spends/change-address.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { TOKEN } from './pay-families.ts';

const BNB = 10n ** 18n;
const TOKENS = [
  ['worth as much as its gas', 0n, 1],
  ['worth more than that', 1n, 2],
] as const;

/** A tank with coin, and two addresses with tokens and no gas: one with many, and one that is worth `more` than its gas. */
async function scene(more: bigint) {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  bench.rate({ BNB: '1', USDT: '1' });
  const business = app.directory.business(bench.businessId);
  const account = app.directory.account(business, 'USDT_BEP20')!;
  const holder = { business, account, chain: bench.chain, asset: 'USDT_BEP20' as const };
  const tank = await tankOf(app, holder);
  const rate = await pay.feeRate();
  const feeOf = (asset: 'BNB' | 'USDT_BEP20'): bigint => chain.adapter.spending!.usualFee!(asset, rate);
  // of the same price as the coin, with as many decimals; dollars are rounded down to 1e-8
  const cost = feeOf('USDT_BEP20') + feeOf('BNB');
  const scaled = 10n ** 10n;
  const small = (cost / scaled + more) * scaled;
  await chain.deposit(tank, 10n * BNB);
  const paid: number[] = [];
  for (const units of [5n * BNB, small]) {
    const id = bench.unassigned();
    await chain.deposit(app.store.get(targetById, { id })!, units);
    await chain.mine();
    await pay.sync();
    paid.push(id);
  }
  await app.store.write((tx) => {
    const run = (sql: string): unknown => tx.run({ sql, bind: () => [] }, {});
    run(`DELETE FROM address_balance WHERE asset = 'BNB' AND target_id IN (${paid.join()})`);
    run("UPDATE inbox SET state = 'kept'");
  });
  const terms = { key_index: null, keep: 0n, least: 0n, fee_share_ppm: null, fee_max: BNB, fee_day: BNB };
  const of = { business_id: business.id, asset: holder.asset, address: pay.recipient() };
  const found = (): Promise<Forecast> => forecast(app, { ...of, ...terms });
  const reserve = (): bigint => coinReserve(app, { ...holder, asset: 'BNB' }, rate)!.get(tank.address)!;
  return { pay, found, reserve, feeOf, small };
}

it.each(TOKENS)('one %s takes gas and a payment, or none', async (_, more, addresses) => {
  const { found, small } = await scene(more);
  const { all, gas } = await found();
  // the tank has gas
  expect([gas.count, all.count]).toEqual([addresses, addresses + 1]);
  expect(all.units).toBe(15n * BNB + (addresses === 2 ? small : 0n));
});

it.each(TOKENS)('one %s keeps coin in the tank, or none', async (_, more, addresses) => {
  const { reserve, feeOf } = await scene(more);
  const each = (feeOf('USDT_BEP20') * 125n) / 100n + feeOf('BNB');
  expect(reserve()).toBe(2n * (BigInt(addresses) * each + feeOf('USDT_BEP20')));
});

it.each(TOKENS)('one %s is moved while a price is not known', async (_, more) => {
  const { pay, found } = await scene(more);
  pay.bench.advance(20 * 60_000);
  pay.app.rates.snapshot(pay.bench.at);
  expect((await found()).all.count).toBe(3);
});
