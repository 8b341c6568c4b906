/** The gas that is named for tokens which are to leave: what collects them, and what pays them out of the tank. */
import { expect, it } from 'vitest';
import { deskOf, findsOf, missingFor, payoutGas } from '../../../daemon/app/gas/finds.ts';
import { passGas } from '../../../daemon/app/gas/pass.ts';
import { feeRateNow } from '../../../daemon/app/spends/fees.ts';
import { assetOf } from '../../../daemon/domain/assets.ts';
import { formatUnits } from '../../../daemon/domain/money.ts';
import { targetById } from '../../../daemon/store/queries/credits.ts';
import { beginGasPlan } from './gas-kit.ts';
import { PayBench } from './pay-bench.ts';
import { PaySandbox } from './pay-sandbox.ts';

const FLAGS = { 'networks.mainnet.USDT_BEP20.confirmations': '0:1' };

/** Tokens at two addresses, and no gas anywhere. */
async function scattered() {
  const pay = await PayBench.on(new PaySandbox('USDT_BEP20', FLAGS));
  const { app, bench, chain } = pay;
  bench.rate({ BNB: '1', USDT: '1' });
  for (let i = 0; i < 2; i++) {
    const to = app.store.get(targetById, { id: bench.unassigned() })!;
    await chain.give(to, 'USDT_BEP20', 5n * chain.coin);
  }
  await chain.mine();
  await pay.sync();
  await beginGasPlan(pay);
  const desk = () => deskOf(app, app.directory.business(bench.businessId), 'BSC');
  const missing = async () => {
    const [now, feeRate] = [await desk(), await feeRateNow(bench.chain)];
    const finds = findsOf(app, now, feeRate).filter(({ asset }) => asset.symbol === 'USDT_BEP20');
    const [toCollect, toPayOut] = [0n, payoutGas(app, now, finds, feeRate)].map((payouts) =>
      missingFor(now, finds, feeRate, payouts),
    );
    return { toCollect: toCollect!, toPayOut: toPayOut! };
  };
  const collect = async (): Promise<void> => {
    for (let i = 0; i < 6; i++) {
      Object.assign(bench.chain, { syncs: bench.chain.syncs + 1, syncedAt: bench.at });
      await passGas(app, bench.chain);
      await pay.round();
      await chain.mine(20);
      await pay.round();
    }
  };
  return { pay, missing, collect, tank: async () => (await desk()).tank };
}

it('suffices for both', async () => {
  const { pay, missing, collect, tank } = await scattered();
  const { toCollect, toPayOut } = await missing();
  expect(toPayOut).toBeGreaterThan(toCollect);
  await pay.chain.give(await tank(), 'BNB', toPayOut);
  await pay.chain.mine(20);
  await pay.sync();
  expect(await missing()).toEqual({ toCollect: 0n, toPayOut: 0n });
  await collect();
  const id = await pay.withdraw(10n * pay.chain.coin);
  await pay.round();
  await pay.chain.mine(20);
  await pay.round();
  expect(pay.row(id)).toMatchObject({ state: 'completed', problem: null });
});

it('is named, too, once the tokens are in the tank and only their payment lacks it', async () => {
  const { pay, missing, collect, tank } = await scattered();
  const before = await missing();
  await pay.chain.give(await tank(), 'BNB', before.toCollect);
  await pay.chain.mine(20);
  await pay.sync();
  await collect();
  const { toCollect, toPayOut } = await missing();
  expect(toCollect).toBe(0n);
  await expect(pay.withdraw(10n * pay.chain.coin)).rejects.toThrow(
    `the network fee may be ${formatUnits(toPayOut, assetOf('BNB'))} BNB`,
  );
});
