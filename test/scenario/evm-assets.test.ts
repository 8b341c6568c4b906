/**
 * Every asset of Ethereum and BNB Smart Chain, from invoices to the merchant's own address, on an anvil of each: no address of
 * an invoice has enough by itself, so that the approval of the withdrawal lets its money be collected first.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AssetId, assetOf } from '../../daemon/domain/assets.ts';
import { NATIVE_COIN } from '../../daemon/domain/evm.ts';
import { formatUnits, parseDecimal } from '../../daemon/domain/money.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';

const USD = 30;
/** On a busy machine; a few seconds on an idle one. */

describe.skipIf(!hasAnvil).each([
  { chain: 'ETH', assets: ['ETH', 'USDT_ERC20', 'XAUT', 'PAXG'] },
  { chain: 'BSC', assets: ['BNB', 'USDT_BEP20'] },
] as const)('$chain', ({ chain, assets }) => {
  describe(anvilTitle('each asset on anvil'), () => {
    const contracts = new Map<AssetId, string>();
    let scene: EvmScene;
    let shop: EvmShop;

    beforeAll(async () => {
      scene = await EvmScene.start(chain);
      const coin = NATIVE_COIN[chain];
      contracts.set(scene.asset, scene.token);
      for (const asset of assets) {
        if (asset === coin || contracts.has(asset)) continue;
        const token = await scene.anvil.deploy('Standard', [assetOf(asset).decimals, asset]);
        await scene.anvil.send({ to: token, data: callOf('Standard', 'mint', [scene.anvil.payer, 10n ** 30n]) });
        contracts.set(asset, token);
      }
      await scene.anvil.mine();
      const tokens = [...contracts].map(
        ([asset, contract]) => `[networks.regtest.${asset}]\ncontract = "${contract}"\n`,
      );
      const config = scene.settings(scene.asset, coin).replace(/\[networks\.regtest\.USDT[^[]*/, tokens.join(''));
      shop = await EvmShop.open(scene, `${config}XAUT = "3000"\nPAXG = "3000"\n`);
      await shop.fillTank(ETHER / 10n);
    });
    afterAll(async () => {
      await shop?.stop();
      await scene?.stop();
    });

    const held = (asset: AssetId, address: string): Promise<bigint> => {
      const token = contracts.get(asset);
      return token === undefined ? shop.coinsAt(address) : shop.tokensAt(address, token);
    };

    /** Pays two invoices of it; returns what the two together have. */
    async function invoices(asset: AssetId): Promise<bigint> {
      const both = [await shop.invoice(asset, USD), await shop.invoice(asset, USD)];
      let sum = 0n;
      for (const { address, amount } of both) {
        const units = parseDecimal(amount, assetOf(asset).decimals)!;
        const to = contracts.get(asset);
        if (to === undefined) await scene.payCoins([{ address, units }]);
        else await scene.anvil.send({ to, data: callOf('Standard', 'transfer', [address, units]) });
        sum += units;
      }
      await shop.bury();
      for (const { id } of both) await shop.isPaid(id);
      return sum;
    }

    it.each(assets)('%s: two invoices are paid, collected, and sent on under one approval', async (asset) => {
      const all = await invoices(asset);
      // the coin in the tank would be enough for a little more of it
      const amount =
        asset === NATIVE_COIN[chain]
          ? (await shop.coinsAt((await shop.desk()).tank.address)) + all / 2n
          : (all * 9n) / 10n;
      const to = freshAddress();
      const id = await shop.request(asset, formatUnits(amount, assetOf(asset)), to);
      const { preview, collect, why } = await shop.operator.call('withdrawal.propose', { kind: 'pay', id });
      expect({ why, raw: preview?.raw }).toEqual({ why: null, raw: null });
      expect(collect).toMatchObject({ chain, coin: NATIVE_COIN[chain], needs: null });
      expect(collect!.addresses).toBeGreaterThan(0);
      await shop.approveCollecting(id, { to });
      await shop.mining('it arrived', async () => (await held(asset, to)) > 0n);
      expect(await held(asset, to)).toBe(amount);
      expect((await shop.when(id, 'completed')).amount).toBe(formatUnits(amount, assetOf(asset)));
      await shop.mining('the plan is over', async () => (await shop.desk()).plan?.state === 'done');
      expect((await shop.desk()).plan).toMatchObject({ only_needed: true, problem: null });
    });

    it('takes everything from all addresses that are worth their gas, under one approval', async () => {
      const [, token] = assets;
      await invoices(token);
      const all = await shop.balanceOf(token);
      const to = freshAddress();
      const id = await shop.request(token, null, to);
      const view = await shop.approveCollecting(id, { to });
      expect(view.payments).toMatchObject([{ upTo: true, allowed: { text: `${all}` } }]);
      expect(view.collect?.addresses).toBe(2);
      await shop.mining('it arrived', async () => (await held(token, to)) > 0n);
      expect(Number(formatUnits(await held(token, to), assetOf(token)))).toBe(all);
      expect(await shop.balanceOf(token)).toBe(0);
    });

    it('proves its books', async () => {
      await shop.bury();
      await until('the books are the chain', async () => (await shop.proof()).length === 0);
    });
  });
});
