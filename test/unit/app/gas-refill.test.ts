/** A collection whose gas came from another machine, in a transaction that the chain lost. */
import { expect, it } from 'vitest';
import { withReserve } from '../../../daemon/app/gas/finds.ts';
import { passGas } from '../../../daemon/app/gas/pass.ts';
import { ownSpends } from '../../../daemon/app/gas/stuck.ts';
import { tankOf } from '../../../daemon/app/spends/change-address.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { versionsOf } from '../../../daemon/store/queries/withdrawals.ts';
import { beginGasPlan } from './gas-kit.ts';
import { TOKEN } from './pay-families.ts';

it('gets gas again, once, and goes on', async () => {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  bench.rate({ BNB: '1', USDT: '1' });
  const business = app.directory.business(bench.businessId);
  const account = app.directory.account(business, 'USDT_BEP20')!;
  const tank = await tankOf(app, { business, account, chain: bench.chain, asset: 'USDT_BEP20' });
  await chain.deposit(tank, 10n * chain.coin);
  const id = bench.unassigned();
  const { address } = app.store.get(targetById, { id })!;
  await chain.deposit(app.store.get(targetById, { id })!, 5n * chain.coin);
  await chain.mine();
  await pay.sync();
  await beginGasPlan(pay);
  const gas = async (): Promise<void> => {
    Object.assign(bench.chain, { syncs: bench.chain.syncs + 1, syncedAt: bench.at });
    await passGas(app, bench.chain);
  };
  const open = () => ownSpends(app.store, { chain: bench.chain, account });
  const begun = () => open().map(({ purpose, subject, asset }) => [purpose, subject, asset]);
  const collection = ['collect', address, 'USDT_BEP20'];
  await gas();
  expect(begun()).toEqual([collection]);
  const collected = open()[0]!.id;

  chain.refuses = async () => 'insufficient funds for gas * price + value';
  for (let round = 0; round < 3; round++) {
    await pay.round();
    await gas();
  }
  // it has its gas by the books: the nodes refuse it for another reason
  expect(begun()).toEqual([collection]);
  await app.store.write((tx) =>
    tx.run(
      { sql: `DELETE FROM address_balance WHERE asset = 'BNB' AND target_id = ${id}`, bind: () => [] } as never,
      {},
    ),
  );
  for (let round = 0; round < 2; round++) {
    await gas();
    await pay.round();
  }
  const funding = ['fund', address, 'BNB'];
  expect(begun()).toEqual([collection, funding]);
  const planned = (spend_id: number) => app.store.all(versionsOf, { spend_id })[0]!;
  const { plan } = planned(open()[1]!.id);
  expect(JSON.parse(plan).outputs[0].units).toEqual({ $units: `${withReserve(planned(collected).fee)}` });

  chain.refuses = null;
  await pay.round();
  await chain.mine(20);
  await pay.round();
  expect(begun()).toEqual([]);
});
