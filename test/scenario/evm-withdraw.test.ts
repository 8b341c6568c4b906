/**
 * Money that leaves Ethereum, on an anvil: from invoices to the merchant's own address, with the gas desk in between; replaced,
 * canceled, failed on the chain.
 */
import { encodeAbiParameters, type Hex, keccak256 } from 'viem';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';

/** On a busy machine; a few seconds on an idle one. */
/** Binance's chain has its part in evm-assets.test.ts. */
const [chain, tether, unit, coin] = ['ETH', 'USDT_ERC20', 10n ** 6n, 'ETH'] as const;

describe.skipIf(!hasAnvil)(anvilTitle('paying out on anvil'), () => {
  let scene: EvmScene;
  let shop: EvmShop;

  beforeAll(async () => {
    scene = await EvmScene.start(chain);
    shop = await EvmShop.open(scene, scene.settings(tether, coin));
  });
  afterAll(async () => {
    await shop?.stop();
    await scene?.stop();
  });

  it('pays the native coin straight from the address of an invoice', async () => {
    await shop.invoicePaid(coin, ETHER / 50n, 40);
    const to = freshAddress();
    const id = await shop.request(coin, '0.005', to);
    const preview = await shop.operator.approve(id);
    expect(preview.outputs).toEqual([expect.objectContaining({ amount: '0.005', change: false })]);
    await shop.sent(id);
    await scene.anvil.mine(1);
    const done = await shop.when(id, 'completed');
    expect(await shop.coinsAt(to)).toBe(ETHER / 200n);
    // what was not needed of the highest fee is not charged
    expect(Number(done.fee)).toBeLessThan(Number(preview.fee));
    const left = await until('the books follow', async () => {
      const now = await shop.balanceOf(coin);
      return now < 0.015 && now;
    });
    expect(left).toBeCloseTo(0.02 - 0.005 - Number(done.fee), 7);
    await shop.bury();
  });

  it('collects tokens into the tank once there is gas, and pays them out from there', async () => {
    const first = await shop.invoicePaid(tether, 25n * unit, 25);
    const second = await shop.invoicePaid(tether, 40n * unit, 40);
    expect(await shop.asset(tether)).toMatchObject({ amount: '65', in_tank: '0', on_addresses: '65', addresses: 2 });
    const { worth, items, needs, fee_max } = await shop.forecast();
    expect(worth).toBe(3);
    expect(items.filter(({ crypto }) => crypto === tether)).toEqual([
      expect.objectContaining({ address: second, amount: '40', left: null, dear: false }),
      expect.objectContaining({ address: first, amount: '25', left: null }),
    ]);
    const { tank } = await shop.desk();
    expect(needs).toMatchObject({ address: tank.address, text: expect.stringContaining('for gas; send it to') });
    await shop.fillTank(ETHER / 10n);
    expect((await shop.forecast()).needs).toBeNull();

    await shop.collect(BigInt(fee_max));
    await shop.mining('all is in the tank', async () => (await shop.asset(tether)).in_tank === '65');
    expect([await shop.tokensAt(first), await shop.tokensAt(second)]).toEqual([0n, 0n]);
    expect(await shop.tokensAt(tank.address)).toBe(65n * unit);
    // what moves between our own addresses is neither a payment nor income
    expect(await shop.balanceOf(tether)).toBe(65);
    expect((await shop.operator.call('inbox.list', {})).items).toEqual([]);

    const to = freshAddress();
    const id = await shop.request(tether, '60.5', to);
    const preview = await shop.operator.approve(id);
    expect(preview.outputs).toEqual([expect.objectContaining({ address: to, amount: '60.5', change: false })]);
    await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
    expect(await shop.tokensAt(to)).toBe((605n * unit) / 10n);
    expect(await shop.balanceOf(tether)).toBe(4.5);
  });

  it('is sped up and canceled by the same nonce, and one of the versions confirms', async () => {
    const [to, other] = [freshAddress(), freshAddress()];
    const id = await shop.request(tether, '1', to);
    await shop.operator.approve(id);
    await shop.sent(id);
    const first = (await shop.operator.show(id)).versions[0]!;
    const faster = await shop.operator.replace(id, 'speed-up');
    expect(Number(faster.fee)).toBeGreaterThan(1.1 * Number(first.fee));
    await shop.sent(id, 2);
    await shop.bury();
    const done = await shop.when(id, 'completed');
    expect(done.tx_id).toBe(done.versions[1]?.tx_id);
    expect(await shop.tokensAt(to)).toBe(unit);

    const second = await shop.request(tether, '2', other);
    await shop.operator.approve(second);
    await shop.sent(second);
    await shop.operator.replace(second, 'cancel');
    await shop.sent(second, 2);
    await shop.bury();
    expect(await shop.when(second, 'failed')).toMatchObject({ reason: 'canceled', tx_id: null });
    expect(await shop.tokensAt(other)).toBe(0n);
  });

  it('fails where the chain ran it without effect: the fee is paid, and nobody', async () => {
    const to = freshAddress();
    const id = await shop.request(tether, '1.5', to);
    await shop.operator.approve(id);
    await shop.sent(id);
    const held = await shop.balanceOf(tether);
    // when the block runs it, the tokens are elsewhere
    const { tank } = await shop.desk();
    await scene.anvil.rpc('anvil_impersonateAccount', [tank.address]);
    await scene.anvil.rpc('anvil_setBlockTimestampInterval', [1]);
    const slot = keccak256(encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [tank.address as Hex, 0n]));
    const zero = `0x${'0'.repeat(64)}`;
    const was = await scene.anvil.rpc<string>('eth_getStorageAt', [scene.token, slot, 'latest']);
    await scene.anvil.rpc('anvil_setStorageAt', [scene.token, slot, zero]);
    await scene.anvil.mine(1);
    await scene.anvil.rpc('anvil_setStorageAt', [scene.token, slot, was]);
    const waiting = await until('it says so', async () => {
      const now = await shop.operator.show(id);
      return now.problem !== null && now;
    });
    expect(waiting).toMatchObject({ state: 'broadcast', problem: expect.stringContaining('moved nothing') });
    await shop.bury();
    expect(await shop.when(id, 'failed')).toMatchObject({ reason: 'reverted', tx_id: null });
    expect(await shop.tokensAt(to)).toBe(0n);
    expect(await shop.balanceOf(tether)).toBeGreaterThan(held);
  });

  it('lets other addresses go where a token refuses one, and says so', async () => {
    const blocked = await shop.invoicePaid(tether, 30n * unit, 30);
    const free = await shop.invoicePaid(tether, 35n * unit, 35);
    await scene.anvil.send({ to: scene.token, data: callOf('TetherLike', 'setBlackListed', [blocked, true]) });
    await scene.anvil.mine();
    await shop.collect(ETHER / 100n);
    await shop.mining('the other one is collected', async () => (await shop.tokensAt(free)) === 0n);
    expect(await shop.tokensAt(blocked)).toBe(30n * unit);
    expect(await shop.operator.alertsOf('gas.refused')).toEqual([expect.stringContaining(blocked)]);
    await scene.anvil.send({ to: scene.token, data: callOf('TetherLike', 'setBlackListed', [blocked, false]) });
    await scene.anvil.mine();
    await shop.mining('all is collected', async () => (await shop.tokensAt(blocked)) === 0n);
  });

  it('proves its books against the chain at last', async () => {
    await shop.bury();
    await until('the books are the chain', async () => (await shop.proof()).length === 0);
  });
});
