/** Which deposits a plan collects first. */
import { expect, it } from 'vitest';
import { derive } from '../../../daemon/app/addresses/pool.ts';
import { passGas } from '../../../daemon/app/gas/pass.ts';
import { ownSpends } from '../../../daemon/app/gas/stuck.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { beginGasPlan } from './gas-kit.ts';
import { TOKEN } from './pay-families.ts';

/** So many deposits of a token and of gas, which a plan collects. */
async function scene(count: number) {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  bench.rate({ BNB: '1', USDT: '1' });
  const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
  await derive(app, account, count);
  const paid: number[] = [];
  for (let i = 0; i < count; i++) {
    const id = bench.unassigned();
    await chain.deposit(app.store.get(targetById, { id })!, 5n * chain.coin);
    await chain.mine();
    await pay.sync();
    paid.push(id);
  }
  const run = (sql: string) => app.store.write((tx) => tx.run({ sql, bind: () => [] }, {}));
  await beginGasPlan(pay);
  Object.assign(bench.chain, { syncs: 1, syncedAt: bench.at });
  const addresses = paid.map((id) => app.store.get(targetById, { id })!.address);
  const begun = () =>
    ownSpends(app.store, { chain: bench.chain, account }).map(({ purpose, subject, asset }) => [
      purpose,
      subject,
      asset,
    ]);
  return { app, bench, run, paid, addresses, begun };
}

it('is the coin that fills an empty tank, however many dearer tokens wait for gas from there', async () => {
  // more than one pass begins
  const { app, bench, run, paid, addresses, begun } = await scene(21);
  const [coins, ...tokens] = paid;
  await run(`DELETE FROM address_balance WHERE asset = 'BNB' AND target_id IN (${tokens.join()})`);
  await run(`DELETE FROM address_balance WHERE asset = 'USDT_BEP20' AND target_id = ${coins}`);
  await passGas(app, bench.chain);
  expect(begun()).toEqual([['collect', addresses[0], 'BNB']]);
});

it('are those that nothing blocks, however many are found to be blocked before', async () => {
  // more than one pass begins
  const { app, bench, addresses, begun } = await scene(25);
  const { spending } = bench.chain;
  const plan = spending.plan.bind(spending);
  const free = addresses.at(-1)!;
  spending.plan = async (request, limit) => {
    const { address } = request.holdings.balance(request.from!);
    if (address !== free) throw new Rejected('spend.refused', 'blocked');
    return plan(request, limit);
  };
  // each address has a token and the coin
  for (let i = 0; i < 3; i++) await passGas(app, bench.chain);
  expect(begun().map(([purpose, subject]) => [purpose, subject])).toEqual([['collect', free]]);
});
