/** The loop that signs and sends withdrawals. */
import { expect, it, vi } from 'vitest';
import { Rejected, Unavailable } from '../../../daemon/domain/errors.ts';
import { WithdrawalWorker } from '../../../daemon/workers/withdrawals.ts';
import { beginGasPlan } from '../app/gas-kit.ts';
import { FAMILIES, TOKEN } from '../app/pay-families.ts';

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

const FAULTS = [new Rejected('vault.corrupted', 'The wallet file is damaged'), new Unavailable('its disk is full', 60)];

it.each(FAMILIES.flatMap((family) => FAULTS.map((fault) => [family.name, fault.message, family, fault] as const)))(
  'sends what is signed, and says why the rest waits: %s, %s',
  async (_, why, family, fault) => {
    const pay = await family.open();
    const { coin } = pay.chain;
    await pay.deposits([coin, coin], 20);
    const signed = await pay.withdraw(coin / 4n);
    await pay.pass(false);
    await pay.pass(false);
    expect(pay.row(signed).state).toBe('signed');
    pay.signer.fault = fault;
    const waiting = await pay.withdraw(coin / 4n);
    await pay.pass();
    expect([pay.row(signed).state, pay.row(waiting)]).toEqual([
      'broadcast',
      expect.objectContaining({ state: 'approved', problem: why }),
    ]);
    pay.signer.fault = null;
  },
);
