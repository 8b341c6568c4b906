/** A collection that fails on the chain, on an anvil: its plan halts, and an operator lets it go on. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop } from '../support/evm-shop.ts';

const USDT = 10n ** 6n;

describe.skipIf(!hasAnvil)(anvilTitle('a collection that fails, on anvil'), () => {
  let scene: EvmScene;
  let shop: EvmShop;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    shop = await EvmShop.open(scene, scene.settings('USDT_ERC20', 'ETH'));
    await shop.fillTank(ETHER / 10n);
  });
  afterAll(async () => {
    await shop?.stop();
    await scene?.stop();
  });

  const sentBy = async (address: string): Promise<number> =>
    Number(await scene.anvil.rpc('eth_getTransactionCount', [address, 'latest']));
  const alerts = (): Promise<string[]> => shop.operator.alertsOf('gas.halted');
  const blocked = (address: string, is: boolean): Promise<unknown> =>
    scene.anvil.rpc('eth_sendTransaction', [
      {
        from: scene.anvil.payer,
        to: scene.token,
        data: callOf('TetherLike', 'setBlackListed', [address, is]),
        gas: '0x186a0',
        // first in the block, because it pays more
        maxFeePerGas: '0x174876e800',
        maxPriorityFeePerGas: '0x174876e800',
      },
    ]);

  it('is not tried again until an operator lets the plan go on, and neither is another one', async () => {
    const address = await shop.invoicePaid('USDT_ERC20', 50n * USDT, 50);
    await shop.collect(ETHER / 20n);
    await shop.mining('it has gas', async () => (await shop.coinsAt(address)) > 0n);
    await until('its collection is sent', async () => (await shop.pending()) > 0);
    await blocked(address, true);
    await scene.anvil.mine(1);
    await until('the plan is halted', async () => (await shop.desk()).plan?.halted);
    await blocked(address, false);
    const other = await shop.invoicePaid('USDT_ERC20', 70n * USDT, 70);
    await shop.bury();
    const plan = await until('it is told', async () => {
      const now = (await shop.desk()).plan;
      return now?.problem && now;
    });
    expect(plan).toMatchObject({
      state: 'open',
      halted: true,
      problem: { code: 'gas.stopped', values: {} },
    });
    expect([await sentBy(address), await shop.coinsAt(other), await shop.pending()]).toEqual([1, 0n, 0]);
    expect(await alerts()).toEqual([expect.stringMatching(new RegExp(`${address}.*countinghouse gas resume`))]);

    const business = `${(await shop.desk()).business_id}`;
    expect((await shop.operator.call('gas.resume', { business, chain: 'ETH' })).plan).toMatchObject({ halted: false });
    expect(await alerts()).toEqual([]);
    await expect(shop.operator.call('gas.resume', { business, chain: 'ETH' })).rejects.toThrow('No plan is halted');
    await shop.mining('all is in the tank', async () => (await shop.asset('USDT_ERC20')).in_tank === '120');
    expect((await shop.desk()).plan).toMatchObject({ state: 'open', halted: false });
    await until('the books are the chain', async () => (await shop.proof()).length === 0);
  });
});
