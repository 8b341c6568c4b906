/**
 * Another machine with the same words has sent something that waits for a block: nothing else is paid from that address meanwhile,
 * because it may be the very payment that is approved here.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textIn } from '../../daemon/domain/messages.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';

describe.skipIf(!hasAnvil)(anvilTitle('a payment while another machine has sent one from the tank'), () => {
  let scene: EvmScene;
  let shop: EvmShop;
  let tank: string;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    shop = await EvmShop.open(scene, scene.settings('USDT_ERC20', 'ETH'));
    await shop.invoice('ETH', 10);
    ({ address: tank } = (await shop.desk()).tank);
    await shop.fillTank(ETHER);
    await scene.anvil.rpc('anvil_impersonateAccount', [tank]);
  });
  afterAll(async () => {
    await shop?.stop();
    await scene?.stop();
  });

  /** What another machine sends with the key of the tank. */
  const elsewhere = (to: string): Promise<string> =>
    scene.anvil.rpc('eth_sendTransaction', [{ from: tank, to, value: `0x${(ETHER / 10n).toString(16)}` }]);
  const alerts = () => shop.operator.alertsOf('withdrawal.refused');

  /** A withdrawal that was approved while the wallet was locked, so that nothing of it is planned. */
  async function approved(amount: string, to: string): Promise<string> {
    const id = await shop.request('ETH', amount, to);
    await shop.operator.call('wallet.lock', {});
    await shop.operator.approve(id);
    return id;
  }

  it('waits, says why, and goes on when the network has dropped the other one', async () => {
    const to = freshAddress();
    const id = await approved('0.2', to);
    const other = await elsewhere(freshAddress());
    await shop.operator.unlock();
    const said = new RegExp(`^Transaction 0 of ${tank} waits for a block, and this machine did not make it`);
    await until('it says why', async () => said.test(textIn((await shop.operator.show(id)).problem) ?? ''));
    expect(await alerts()).toEqual([expect.stringContaining(`Transaction 0 of ${tank}`)]);
    expect((await shop.operator.show(id)).versions).toEqual([]);
    await scene.anvil.rpc('anvil_dropTransaction', [other]);
    await shop.sent(id);
    await shop.bury();
    await shop.when(id, 'completed');
    expect(await shop.coinsAt(to)).toBe(ETHER / 5n);
    await until('the alert is over', async () => (await alerts()).length === 0);
  });

  it('is not made again where the other one was the same payment', async () => {
    const to = freshAddress();
    const id = await approved('0.1', to);
    await elsewhere(to);
    await shop.operator.unlock();
    await until('it waits', async () => (await alerts()).length > 0);
    await shop.bury();
    await until('the other machine is noticed', async () => {
      const { quarantined } = await shop.operator.call('restore.status', {});
      return quarantined;
    });
    expect(await shop.coinsAt(to)).toBe(ETHER / 10n);
    expect(await shop.pending()).toBe(0);
    expect((await shop.operator.show(id)).versions.filter(({ sent_at }) => sent_at !== null)).toEqual([]);
  });
});
