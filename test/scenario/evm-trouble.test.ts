/**
 * Tokens that misbehave while money leaves: paused, blacklisting, refusing by their answer, keeping a part. And transactions
 * that are stuck, because gas became dearer.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textIn } from '../../daemon/domain/messages.ts';
import { maxOf } from '../../daemon/domain/money.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, callOf, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';

const USDT = 10n ** 6n;
const GOLD = 10n ** 18n;
const GWEI = 10n ** 9n;
/** On a busy machine; a few seconds on an idle one. */

describe.skipIf(!hasAnvil)(anvilTitle('tokens that misbehave, on anvil'), () => {
  let scene: EvmScene;
  let shop: EvmShop;
  let moody: string;
  let tank: string;

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    moody = await scene.anvil.deploy('Moody', [18, 'PAXG']);
    await scene.anvil.send({ to: moody, data: callOf('Moody', 'mint', [scene.anvil.payer, 10n ** 30n]) });
    const config = scene
      .settings('USDT_ERC20', 'ETH')
      .replace('[networks.regtest.rates]', `[networks.regtest.PAXG]\ncontract = "${moody}"\n$&\nPAXG = "300"`);
    shop = await EvmShop.open(scene, config);
    ({
      tank: { address: tank },
    } = await shop.desk());
    await shop.fillTank(ETHER / 10n);
    // tokens that are in the tank already: a deposit of nobody's invoice
    await scene.payTokens([{ address: tank, units: 500n * USDT }]);
    await scene.anvil.send({ to: moody, data: callOf('Moody', 'transfer', [tank, 3n * GOLD]) });
    await shop.bury();
    await until('the tank is known', async () => (await shop.asset('PAXG')).in_tank === '3');
  });
  afterAll(async () => {
    await shop?.stop();
    await scene?.stop();
  });

  /** A call of a token's switch, in the next block. */
  const turn = (to: string, data: `0x${string}`): Promise<string> => scene.anvil.send({ to, data, gas: 100_000 });
  const alertsOf = (kind: string): Promise<string[]> => shop.operator.alertsOf(kind);
  const gasSpent = async (address: string): Promise<number> =>
    Number(await scene.anvil.rpc('eth_getTransactionCount', [address, 'latest']));

  it('waits while the token is paused, says so, pays another asset meanwhile, and goes on by itself', async () => {
    const [to, other] = [freshAddress(), freshAddress()];
    const id = await shop.request('USDT_ERC20', '10', to);
    const approvals = await shop.operator.approvals(await shop.operator.preview(id));
    await turn(scene.token, callOf('TetherLike', 'setPaused', [true]));
    await scene.anvil.mine();
    const { why } = await shop.operator.call('withdrawal.propose', { kind: 'pay', id });
    expect(textIn(why)).toContain('would refuse');
    await shop.operator.call('withdrawal.approve', { proposal: { kind: 'pay', id }, approvals });
    await until('it waits', async () => (await shop.operator.show(id)).problem?.includes('would refuse'));
    expect(await alertsOf('withdrawal.refused')).toEqual([expect.stringContaining(`Withdrawal ${id}`)]);
    const gold = await shop.request('PAXG', '1', other);
    await shop.operator.approve(gold);
    await shop.mining('the other one is paid', async () => (await shop.operator.show(gold)).state === 'completed');
    expect(await shop.tokensAt(other, moody)).toBe(GOLD);
    expect((await shop.operator.show(id)).state).toBe('approved');
    await turn(scene.token, callOf('TetherLike', 'setPaused', [false]));
    await scene.anvil.mine();
    await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
    expect(await shop.tokensAt(to)).toBe(10n * USDT);
    expect(await alertsOf('withdrawal.refused')).toEqual([]);
  });

  it('fails where the token blocks us before the block comes: the fee is an entry, and nothing is tried again', async () => {
    const to = freshAddress();
    const before = await shop.balanceOf('USDT_ERC20');
    const sent = await gasSpent(tank);
    const id = await shop.request('USDT_ERC20', '7', to);
    await shop.operator.approve(id);
    await shop.sent(id);
    const coins = await shop.coinsAt(tank);
    // first in the block, because it pays more
    await scene.anvil.rpc('eth_sendTransaction', [
      {
        from: scene.anvil.payer,
        to: scene.token,
        data: callOf('TetherLike', 'setBlackListed', [tank, true]),
        gas: '0x186a0',
        maxFeePerGas: '0x174876e800',
        maxPriorityFeePerGas: '0x174876e800',
      },
    ]);
    await shop.bury();
    expect(await shop.when(id, 'failed')).toMatchObject({ reason: 'reverted', tx_id: null });
    expect(await shop.tokensAt(to)).toBe(0n);
    expect(await shop.balanceOf('USDT_ERC20')).toBe(before);
    expect(await shop.coinsAt(tank)).toBeLessThan(coins);
    expect(await until('the fee is in the books', async () => (await shop.proof()).length === 0)).toBe(true);
    await shop.bury();
    expect([await gasSpent(tank), await shop.pending()]).toEqual([sent + 1, 0]);
    await turn(scene.token, callOf('TetherLike', 'setBlackListed', [tank, false]));
    await scene.anvil.mine();
  });

  it('fails where the token says no by its answer alone, though the transaction succeeds', async () => {
    const to = freshAddress();
    const id = await shop.request('PAXG', '0.5', to);
    await shop.operator.approve(id);
    await shop.sent(id);
    await scene.anvil.rpc('eth_sendTransaction', [
      {
        from: scene.anvil.payer,
        to: moody,
        data: callOf('Moody', 'setRefuses', [true]),
        gas: '0x186a0',
        maxFeePerGas: '0x174876e800',
        maxPriorityFeePerGas: '0x174876e800',
      },
    ]);
    await shop.bury();
    expect(await shop.when(id, 'failed')).toMatchObject({ reason: 'reverted', tx_id: null });
    expect(await shop.tokensAt(to, moody)).toBe(0n);
    await turn(moody, callOf('Moody', 'setRefuses', [false]));
    await scene.anvil.mine();
  });

  it('tells what a token kept of a payment, credits what arrived, and keeps both in the books', async () => {
    await turn(moody, callOf('Moody', 'setPercentKept', [10]));
    await scene.anvil.mine();
    const to = freshAddress();
    const id = await shop.request('PAXG', '1', to);
    await shop.operator.approve(id);
    await shop.mining('it is paid', async () => (await shop.operator.show(id)).state === 'completed');
    expect(await shop.tokensAt(to, moody)).toBe((9n * GOLD) / 10n);
    expect(await alertsOf('withdrawal.short')).toEqual([expect.stringContaining('0.1 PAXG')]);
    const { address, id: invoice } = await shop.invoice('PAXG', 300);
    await scene.anvil.send({ to: moody, data: callOf('Moody', 'transfer', [address, GOLD]) });
    await shop.bury();
    await until('what arrived is credited', async () => {
      const { body } = await shop.call<{ payment: { received: string } }>('GET', `/invoice/${invoice}`);
      return body.payment.received === '0.9';
    });
    await until('the books are the chain', async () => (await shop.proof()).length === 0);
  });

  it('keeps still outside the hours of a plan; inside, replaces what is stuck by the same nonce, within its cost', async () => {
    const address = await shop.invoicePaid('USDT_ERC20', 50n * USDT, 50);
    const minute = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
    const daily = { from: minute(2), to: minute(182) };
    await shop.collect(ETHER / 20n, { daily });
    expect((await shop.desk()).plan).toMatchObject({ state: 'open', daily, only_needed: false });
    // outside its hours it keeps still, though there is something to collect
    expect((await shop.forecast()).worth).toBeGreaterThan(0);
    for (let blocks = 0; blocks < 3; blocks++) {
      await scene.anvil.mine(1);
      const mined = Date.now();
      await until('the block is read', async () => {
        const { chains } = await shop.operator.call('status', {});
        const read = chains.find(({ network, chain }) => network === 'regtest' && chain === 'ETH')?.synced_at;
        return Date.parse(read ?? '') >= mined;
      });
    }
    expect([await shop.pending(), (await shop.desk()).plan]).toMatchObject([0, { state: 'open', used: '0' }]);
    shop.service.advance(3 * 60_000);
    await scene.anvil.mine(1);
    const first = await until('it is sent', async () => (await waiting(tank))[0]);
    // above what the first version offers at the most
    const price = 3n * BigInt(first.maxFeePerGas);
    await scene.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${price.toString(16)}`]);
    await scene.anvil.mine(1);
    expect(await scene.anvil.rpc('eth_getTransactionReceipt', [first.hash])).toBeNull();
    // the price that was read before holds for half a minute, but for no service that begins
    await shop.service.daemon.stop();
    await shop.resume();
    const replaced = ({ hash }: typeof first) =>
      until('a dearer version is there', async () => {
        const [now] = await waiting(tank);
        return now && now.hash !== hash && now;
      });
    const second = await replaced(first);
    expect([second.nonce, second.to]).toEqual([first.nonce, first.to]);
    expect(BigInt(second.value)).toBe(BigInt(first.value));
    expect(BigInt(second.maxFeePerGas)).toBeGreaterThan(price);
    expect(BigInt(second.maxPriorityFeePerGas) * 10n).toBeGreaterThanOrEqual(BigInt(first.maxPriorityFeePerGas) * 11n);
    // at the same price it is replaced all the same once it waited for long
    shop.service.advance(16 * 60_000);
    const third = await replaced(second);
    expect([third.nonce, third.to, third.value]).toEqual([first.nonce, first.to, first.value]);
    expect(BigInt(third.maxFeePerGas) * 10n).toBeGreaterThanOrEqual(BigInt(second.maxFeePerGas) * 11n);
    expect(BigInt(third.maxFeePerGas) * 10n).toBeLessThan(BigInt(second.maxFeePerGas) * 12n);
    await shop.mining('it is collected', async () => (await shop.tokensAt(address)) === 0n);
    const { plan } = await shop.desk();
    expect(Number(plan!.used)).toBeLessThan(Number(plan!.fee_max));
  });

  describe('a plan that ends', () => {
    const over = async (problem: object | null) => {
      const isOver = async () => {
        const { plan } = await shop.desk();
        return plan !== null && plan.state !== 'open' && plan;
      };
      expect(await until('the plan is over', isOver)).toMatchObject({ state: 'done', problem });
    };
    let address: string;
    let left: string;

    it('has reached its highest cost, or its time; no guess of the price is a cost', async () => {
      await shop.service.daemon.stop();
      const refusal = { error: { code: -32_000, message: 'not now' } };
      scene.proxy.behaviour = { instead: ({ method }) => (/PriorityFee|gasPrice/.test(method) ? refusal : undefined) };
      await shop.resume();
      // it takes the place of the daily one, which would begin at once
      await shop.collect(1n);
      address = await shop.invoicePaid('USDT_ERC20', 50n * USDT, 50);
      await until('the plan waits', async () => (await shop.desk()).plan?.problem?.code === 'gas.no_price');
      scene.proxy.behaviour = {};
      await over({ code: 'gas.cost_reached', values: {} });
      expect([await shop.pending(), (await shop.desk()).plan?.used]).toEqual([0, '0']);
      await shop.collect(ETHER / 20n, { ends_at: shop.service.now() + 600_000 });
      const first = await until('it is sent', async () => (await waiting(tank))[0]);
      left = first.hash;
      shop.service.advance(700_000);
      await over(null);
      const price = maxOf(3n * BigInt(first.maxFeePerGas), 100n * GWEI);
      await scene.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${price.toString(16)}`]);
      await scene.anvil.mine(1);
      // the price that was read before holds for half a minute, but for no service that begins
      await shop.service.daemon.stop();
      await shop.resume();
    });

    it('leaves marks on invoices whose collecting costs a larger share than the configured one meanwhile', async () => {
      const sweepOf = async (usd: number) => {
        const { id } = await shop.invoice('USDT_ERC20', usd);
        return until('the price of gas is known', async () => {
          const { invoice } = await shop.operator.call('invoice.show', { invoice: id });
          return invoice.payment?.sweep;
        });
      };
      const usual = await sweepOf(100_000);
      expect(usual).toMatchObject({ percent: 0, dear: false });
      // the share is 10 percent by default
      const cost = Math.ceil(Number(usual.cost_usd));
      expect(await sweepOf(cost * 20)).toMatchObject({ dear: false });
      expect(await sweepOf(cost * 2)).toMatchObject({ dear: true });
    });

    it('leaves a funding in the pool, on which the next withdrawal waits, and which the next plan replaces', async () => {
      const to = freshAddress();
      const id = await shop.request('USDT_ERC20', '3', to);
      await shop.operator.approve(id);
      await shop.sent(id);
      await scene.anvil.mine(1);
      expect(await scene.anvil.rpc('eth_getTransactionReceipt', [left])).toBeNull();
      expect(await shop.tokensAt(to)).toBe(0n);
      await shop.collect(ETHER / 20n, { ends_at: shop.service.now() + 3_600_000 });
      await shop.mining('both are paid', async () => {
        const isCollected = (await shop.tokensAt(address)) === 0n;
        return isCollected && (await shop.operator.show(id)).state === 'completed';
      });
      expect(await shop.tokensAt(to)).toBe(3n * USDT);
      await until('the books are the chain', async () => (await shop.proof()).length === 0);
    });
  });

  type Waiting = {
    hash: string;
    nonce: string;
    to: string;
    value: string;
    maxFeePerGas: string;
    maxPriorityFeePerGas: string;
  };
  /** The transactions of an address in the pool. */
  async function waiting(from: string): Promise<Waiting[]> {
    const { pending } = await scene.anvil.rpc<{ pending: Record<string, Record<string, Waiting>> }>(
      'txpool_content',
      [],
    );
    const found = Object.entries(pending).find(([sender]) => sender.toLowerCase() === from.toLowerCase());
    return Object.values(found?.[1] ?? {});
  }
});
