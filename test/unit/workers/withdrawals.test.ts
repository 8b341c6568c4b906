/** The loop that signs and sends withdrawals. */
import { expect, it, vi } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { saveGasPlan } from '../../../daemon/store/queries/gas.ts';
import { WithdrawalWorker } from '../../../daemon/workers/withdrawals.ts';
import { TOKEN } from '../app/pay-families.ts';

it('pays although nobody answers what a gas plan asks', async () => {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  await pay.deposits([chain.coin], 20);
  const whyRefused = vi.fn(() => Promise.reject(new Unavailable('no endpoint simulates', 5)));
  bench.chain.spending.whyRefused = whyRefused;
  const plan = {
    account_id: bench.accountId,
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
    begins_at: bench.at,
    ends_at: bench.at + 86_400_000,
    created_at: bench.at,
    state: 'open' as const,
    problem: null,
  };
  await app.store.write((tx) => tx.run(saveGasPlan, plan));
  const id = await pay.withdraw(chain.coin / 4n);
  Object.assign(bench.chain, { syncs: 1, syncedAt: bench.at });
  const worker = new WithdrawalWorker(app, bench.chain);
  worker.start();
  try {
    await vi.waitFor(() => expect(pay.row(id).state).toBe('broadcast'), { interval: 20 });
  } finally {
    await worker.stop();
  }
  expect(whyRefused).toHaveBeenCalled();
});
