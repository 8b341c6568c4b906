/** A token that blocks one address of those that a plan sends on. */
import { expect, it } from 'vitest';
import { passForwards } from '../../../daemon/app/forwarding/pass.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { forwardPlanById } from '../../../daemon/store/queries/forwarding.ts';
import { planned } from './forward-kit.ts';
import { TOKEN } from './pay-families.ts';

/** Deposits, of which the token blocks all but the last, and a plan that sends from `least` on. */
async function scene(least: bigint, deposits = [5n, 3n]) {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  const { coin } = chain;
  bench.rate({ BNB: '1', USDT: '1' });
  const paid = [];
  for (const units of deposits) {
    const target = app.store.get(targetById, { id: bench.unassigned() })!;
    await chain.deposit(target, units * coin);
    // its gas needs as many
    await chain.mine(20);
    await pay.sync();
    paid.push(target);
  }
  const free = paid.at(-1)!;
  const [blocked] = paid;
  const { spending } = bench.chain;
  spending.whyRefused = async (_, { script }) => (Buffer.compare(script, free.script) === 0 ? null : 'blocked');
  const plan = spending.plan.bind(spending);
  // as the planner of a real chain, which simulates the transfer from some of them
  spending.plan = async (request, limit) => {
    const tried = request.holdings.balances().slice(0, 3);
    const balances = () => tried.filter(({ address }) => address === free.address);
    return plan({ ...request, holdings: { ...request.holdings, balances } }, limit).catch(() => {
      throw new Rejected('spend.refused', 'blocked');
    });
  };
  const id = await planned(app, bench.businessId, 'BSC', {
    address: pay.recipient(),
    account_id: app.directory.account(app.directory.business(bench.businessId), 'USDT_BEP20')!.id,
    chain_key: bench.chain.key,
    asset: 'USDT_BEP20',
    keep: 0n,
    least: least * coin,
    fee_share_ppm: null,
    fee_max: coin,
    fee_day: coin,
  });
  Object.assign(bench.chain, { syncs: 1, syncedAt: bench.at });
  return { pay, app, bench, chain, coin, blocked: blocked!, plan: () => app.store.get(forwardPlanById, { id })! };
}

const refusal = (address: string) => ({
  code: 'gas.refused',
  values: { asset: 'USDT_BEP20', address, reason: 'blocked' },
});

it('keeps what it has, and no other address waits for it', async () => {
  const { pay, app, bench, chain, coin, blocked, plan } = await scene(0n);
  await passForwards(app, bench.chain);
  await pay.round();
  const begun = pay.stored(plan().withdrawal_id!);
  expect([begun.state, begun.units, pay.alerts()]).toEqual(['broadcast', 3n * coin, []]);
  await chain.mine();
  await pay.sync();
  for (let i = 0; i < 2; i++) await passForwards(app, bench.chain);
  expect([plan().withdrawal_id, plan().problem]).toEqual([null, refusal(blocked.address)]);
  expect(pay.alerts().map(({ kind }) => kind)).toEqual(['forward.waits']);
});

it('makes no other address reach the least sum of a plan, which looks again in an hour', async () => {
  const { pay, app, bench, blocked, plan } = await scene(4n);
  const { spending } = bench.chain;
  const asked: string[] = [];
  const why = spending.whyRefused!.bind(spending);
  spending.whyRefused = (asset, at, ...given) => {
    asked.push(Buffer.from(at.script).toString('hex'));
    return why(asset, at, ...given);
  };
  for (let i = 0; i < 3; i++) await passForwards(app, bench.chain);
  expect([plan().withdrawal_id, plan().problem]).toEqual([null, refusal(blocked.address)]);
  expect([plan().next_at - bench.at, asked]).toEqual([3_600_000, [Buffer.from(blocked.script).toString('hex')]]);
  expect(pay.alerts().map(({ kind }) => kind)).toEqual(['forward.waits']);
});

it('keeps no other address waiting, although more are blocked than a payment is tried from', async () => {
  const { pay, app, bench, coin, plan } = await scene(0n, [9n, 8n, 7n, 6n, 3n]);
  await passForwards(app, bench.chain);
  await pay.round();
  const begun = pay.stored(plan().withdrawal_id!);
  expect([begun.state, begun.units, pay.alerts()]).toEqual(['broadcast', 3n * coin, []]);
});
