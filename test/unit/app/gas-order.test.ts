/** Which deposits a plan collects first. */
import { expect, it } from 'vitest';
import { derive } from '../../../daemon/app/addresses/pool.ts';
import { passGas } from '../../../daemon/app/gas/pass.ts';
import { ownSpends } from '../../../daemon/app/gas/stuck.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { saveGasPlan } from '../../../daemon/store/queries/gas.ts';
import { TOKEN } from './pay-families.ts';

it('is the coin that fills an empty tank, however many dearer tokens wait for gas from there', async () => {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  bench.rate({ BNB: '1', USDT: '1' });
  const account = app.directory.accounts().find(({ id }) => id === bench.accountId)!;
  await derive(app, account, 20);
  const paid: number[] = [];
  // more than one pass begins
  for (let i = 0; i < 21; i++) {
    const id = bench.unassigned();
    await chain.deposit(app.store.get(targetById, { id })!, 5n * chain.coin);
    await chain.mine();
    await pay.sync();
    paid.push(id);
  }
  const { at: now } = bench;
  const plan = {
    account_id: account.id,
    chain_key: bench.chain.key,
    min_usd: 0n,
    price_max: null,
    fee_max: chain.coin,
    used: 0n,
    only_needed: false,
    day_from: null,
    day_to: null,
    halted: false,
    halted_by: 0,
    begins_at: now,
    ends_at: now + 86_400_000,
    created_at: now,
    state: 'open' as const,
    problem: null,
  };
  const [coins, ...tokens] = paid;
  await app.store.write((tx) => {
    const run = (sql: string): unknown => tx.run({ sql, bind: () => [] }, {});
    run(`DELETE FROM address_balance WHERE asset = 'BNB' AND target_id IN (${tokens.join()})`);
    run(`DELETE FROM address_balance WHERE asset = 'USDT_BEP20' AND target_id = ${coins}`);
    tx.run(saveGasPlan, plan);
  });
  Object.assign(bench.chain, { syncs: 1, syncedAt: bench.at });
  await passGas(app, bench.chain);
  const begun = ownSpends(app.store, { chain: bench.chain, account });
  const { address } = app.store.get(targetById, { id: coins! })!;
  expect(begun.map(({ purpose, subject, asset }) => [purpose, subject, asset])).toEqual([['collect', address, 'BNB']]);
});
