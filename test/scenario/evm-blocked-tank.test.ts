/** A token that blocks the tank, on an anvil: nothing is collected into it, and withdrawals are paid from elsewhere. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textIn } from '../../daemon/domain/messages.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';

const USDT = 10n ** 6n;

describe.skipIf(!hasAnvil)(anvilTitle('a token that blocks the tank, on anvil'), () => {
  let scene: EvmScene;
  let shop: EvmShop;
  let tank: string;
  let rich: string;
  let poor: string;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    shop = await EvmShop.open(scene, scene.settings('USDT_ERC20', 'ETH'));
    await shop.fillTank(ETHER / 10n);
    tank = (await shop.desk()).tank.address;
    rich = await shop.invoicePaid('USDT_ERC20', 70n * USDT, 70);
    poor = await shop.invoicePaid('USDT_ERC20', 30n * USDT, 30);
    await blocked(true);
  });
  afterAll(async () => {
    await shop?.stop();
    await scene?.stop();
  });

  async function blocked(is: boolean): Promise<void> {
    const data = callOf('TetherLike', 'setBlackListed', [tank, is]);
    await scene.anvil.send({ to: scene.token, data, gas: 100_000 });
    await scene.anvil.mine(1);
  }
  const alertsOf = (kind: string): Promise<string[]> => shop.operator.alertsOf(kind);

  it('gets nothing by a plan, which says why', async () => {
    await shop.collect(ETHER / 20n);
    await until('it is told', async () => (await alertsOf('gas.refused')).length > 0);
    expect(await alertsOf('gas.refused')).toEqual([
      expect.stringMatching(new RegExp(`USDT_ERC20 cannot be paid out from the tank ${tank}.*a single other address`)),
    ]);
    await shop.bury();
    expect([await shop.tokensAt(tank), await shop.coinsAt(rich), await shop.pending()]).toEqual([0n, 0n, 0]);
  });

  it('is no party to a withdrawal that one other address can pay, once that has gas', async () => {
    const to = freshAddress();
    const id = await shop.request('USDT_ERC20', '60', to);
    await shop.approveCollecting(id);
    await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
    expect([await shop.tokensAt(to), await shop.tokensAt(rich)]).toEqual([60n * USDT, 10n * USDT]);
    expect([await shop.tokensAt(tank), await shop.coinsAt(poor)]).toEqual([0n, 0n]);
  });

  it('keeps a withdrawal waiting that no other address can pay, in words, and collects once it is free again', async () => {
    const to = freshAddress();
    const id = await shop.request('USDT_ERC20', '35', to);
    const proposed = await shop.operator.call('withdrawal.propose', { kind: 'pay', id });
    expect([proposed.preview, proposed.collect ?? null]).toEqual([null, null]);
    expect(textIn(proposed.why)).toContain(`cannot be paid out from the tank ${tank}`);
    await blocked(false);
    await shop.approveCollecting(id);
    await blocked(true);
    // what is under way by then may still come to the tank; gas that was sent after the block needs one of its own
    await shop.mining('it says why it waits', async () => {
      const { problem } = await shop.operator.show(id);
      return problem?.includes('would refuse') ?? false;
    });
    expect(await alertsOf('withdrawal.refused')).toEqual([expect.stringContaining(`Withdrawal ${id}`)]);
    await shop.bury();
    expect(await shop.tokensAt(to)).toBe(0n);
    await blocked(false);
    await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
    expect(await shop.tokensAt(to)).toBe(35n * USDT);
    expect([await alertsOf('withdrawal.refused'), await alertsOf('gas.refused')]).toEqual([[], []]);
  });
});
