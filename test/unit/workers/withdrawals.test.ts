/** The loop that signs and sends withdrawals. */
import { expect, it, vi } from 'vitest';
import { Unavailable } from '../../../daemon/domain/errors.ts';
import { WithdrawalWorker } from '../../../daemon/workers/withdrawals.ts';
import { beginGasPlan } from '../app/gas-kit.ts';
import { TOKEN } from '../app/pay-families.ts';

it('pays although nobody answers what a gas plan asks', async () => {
  const pay = await TOKEN.open();
  const { app, bench, chain } = pay;
  await pay.deposits([chain.coin], 20);
  const whyRefused = vi.fn(() => Promise.reject(new Unavailable('no endpoint simulates', 5)));
  bench.chain.spending.whyRefused = whyRefused;
  await beginGasPlan(pay);
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
