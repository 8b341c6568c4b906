/**
 * Takings on an account chain that a plan forwards on an anvil: each deposit address sends its token straight to the destination. It gets its gas
 * from the tank by the same plan, so that the operator approves nothing else.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { gasOfDay } from '../../daemon/domain/forwarding.ts';
import { parseDecimal } from '../../daemon/domain/money.ts';
import { limitsHeldIn } from '../../daemon/wallet/signer/register.ts';
import { EvmScene } from '../adapters/evm-controls.ts';
import { anvilTitle, hasAnvil } from '../nodes/evm/anvil.ts';
import { until } from '../support/daemon.ts';
import { ETHER, EvmShop, freshAddress } from '../support/evm-shop.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';
import { Shop } from './shop.ts';
import { Victim } from './victim.ts';

const BUSINESS = 'Regtest shop';
const USDT = 10n ** 6n;
const FEE_DAY = '0.05';
const wei = (text: string): bigint => parseDecimal(text, 18)!;

type Waiting = { hash: string; from: string; to: string; nonce: string; value: string; maxFeePerGas: string };

describe.skipIf(!hasAnvil)(anvilTitle('takings that are forwarded on anvil'), () => {
  let scene: EvmScene;
  let shop: EvmShop;
  let config: string;
  let cold: string;
  let tank: string;
  let victim: Victim | null = null;
  let merchant: Shop | null = null;
  const deposits: string[] = [];

  const nonceOf = async (address: string): Promise<number> =>
    Number(await scene.anvil.rpc('eth_getTransactionCount', [address, 'latest']));
  const held = async (dataDir: string, asset: string) => {
    const { forwards } = await limitsHeldIn(join(dataDir, 'vault'), Date.now());
    return forwards.find(({ grant }) => grant.asset === asset)!;
  };
  const forwarded = async (operator: Operator, crypto = 'USDT_ERC20') => {
    const { withdrawals } = await operator.call('withdrawal.list', { business: BUSINESS });
    return withdrawals.filter((one) => one.origin === 'forward' && one.crypto === crypto);
  };
  /** What of the tank's is in the pool. */
  const waiting = async (): Promise<Waiting[]> => {
    const { pending } = await scene.anvil.rpc<{ pending: Record<string, Record<string, Waiting>> }>(
      'txpool_content',
      [],
    );
    const own = Object.entries(pending).find(([address]) => address.toLowerCase() === tank.toLowerCase());
    return Object.values(own?.[1] ?? {});
  };
  async function said(dataDir: string, ...argv: string[]): Promise<{ out: string; err: string }> {
    const { code, out, err } = await cli(dataDir, [...argv, '--yes']);
    expect([code, err.split('\n').find((line) => line.startsWith('error'))]).toEqual([0, undefined]);
    return { out, err };
  }
  const set = (crypto: string, ...more: string[]): string[] => {
    const limits = ['--fee-max', '0.01', '--fee-day', FEE_DAY, ...secret()];
    return ['forward', 'set', BUSINESS, crypto, cold, ...limits, ...more];
  };

  beforeAll(async () => {
    scene = await EvmScene.start('ETH');
    config = scene.settings('USDT_ERC20', 'ETH');
    shop = await EvmShop.open(scene, config);
    cold = freshAddress();
    const { dataDir } = shop.service;
    await writeFile(join(dataDir, 'passphrase'), PASSPHRASE, { mode: 0o600 });
    for (const usd of [30n, 20n, 10n]) deposits.push(await shop.invoicePaid('USDT_ERC20', usd * USDT, Number(usd)));
    ({ address: tank } = (await shop.desk()).tank);
    await said(dataDir, 'address-book', 'add', BUSINESS, 'ETH', cold, 'Cold storage');
  });
  afterAll(async () => {
    await victim?.destroy();
    await merchant?.close();
    await shop?.stop();
    await scene?.stop();
  });

  const preview = () => shop.operator.call('forwarding.preview', { business: BUSINESS, crypto: 'USDT_ERC20' });
  const secret = (): string[] => ['--passphrase-file', join(shop.service.dataDir, 'passphrase')];
  const planned = async (operator: Operator) => {
    const { plans } = await operator.call('forwarding.list', { business: BUSINESS });
    return plans.find(({ crypto }) => crypto === 'USDT_ERC20')!;
  };
  const told = async (operator: Operator) => {
    const { alerts } = await operator.call('alert.list', {});
    return alerts.filter(({ kind }) => kind === 'forward.waits' || kind.startsWith('gas')).map(({ kind }) => kind);
  };
  /** The payments of gas to an address, by the service's own rows. */
  const gasesTo = (address: string): number => {
    const db = new Database(join(shop.service.dataDir, 'countinghouse.db'), { readonly: true });
    const sql = "SELECT count(*) AS n FROM spend WHERE forwards = 'USDT_ERC20' AND subject = ?";
    const { n } = db.prepare(sql).get(address) as { n: number };
    db.close();
    return n;
  };

  it('wait while the tank has too little, and say how much to send where', async () => {
    await said(shop.service.dataDir, ...set('USDT_ERC20', '--every', 'reached', '--least', '0'));
    const { problem } = await until('it waits', async () => {
      const plan = await planned(shop.operator);
      return plan.problem !== null && plan;
    });
    expect(problem).toMatchObject({ code: 'gas.tank_short', values: { asset: 'ETH', address: tank } });
    expect(Number(problem!.values.amount)).toBeGreaterThan(0);
    expect([(await preview()).amount, await told(shop.operator)]).toEqual([null, ['forward.waits']]);
    await said(shop.service.dataDir, 'forward', 'end', BUSINESS, 'USDT_ERC20', ...secret());
    expect(await told(shop.operator)).toEqual([]);
    await shop.fillTank(ETHER / 10n);
  });

  it('go from three addresses without gas under one approval, which says so before, and nothing else is asked', async () => {
    const { dataDir } = shop.service;
    for (const address of deposits) expect(await shop.coinsAt(address)).toBe(0n);
    // waits for its day, so that the preview is of what it will do
    const { err } = await said(dataDir, ...set('USDT_ERC20', '--every', 'week', '--weekday', 'monday'));
    expect(err).toMatch(/Gas first +0\.\d+ ETH from the tank to 3 addresses, for up to 0\.\d+ ETH/);
    expect(err).toContain('Your own deposit addresses get at most 0.1 ETH in 24 hours for that');
    const { gas, amount, payments } = await preview();
    expect([amount, payments, gas?.addresses]).toEqual(['60', 3, 3]);
    const { out } = await said(dataDir, 'forward', 'send', BUSINESS, 'USDT_ERC20');
    expect(out).toBe('Its addresses get gas first. Each sends its USDT_ERC20 once it has that.\n');
    await shop.mining('all of it arrived', async () => (await shop.tokensAt(cold)) === 60n * USDT);
    await shop.mining('the payments are over', async () => {
      const all = await forwarded(shop.operator);
      return all.length === 3 && all.every(({ state }) => state === 'completed');
    });
    // one transaction of gas for each, and one of each address, straight to the destination
    expect(await nonceOf(tank)).toBe(3);
    for (const address of deposits) expect([await nonceOf(address), await shop.tokensAt(address)]).toEqual([1, 0n]);
    expect((await forwarded(shop.operator)).map(({ address, amount }) => [address, Number(amount)])).toEqual([
      [cold, 10],
      [cold, 20],
      [cold, 30],
    ]);
    expect((await shop.desk()).plan).toBeNull();
    expect(await told(shop.operator)).toEqual([]);
    const { used, gas: given } = await held(dataDir, 'USDT_ERC20');
    expect(given).toBe(wei(gas!.amount));
    const { out: grants } = await said(dataDir, 'wallet', 'grants');
    expect(grants).toMatch(/gas for USDT_ERC20 +- +0\.1 ETH +0\.\d+ ETH +own/);
    expect(used).toBeLessThan(wei(FEE_DAY));
    await until('the run is over', async () => {
      const { plans } = await shop.operator.call('forwarding.list', { business: BUSINESS });
      return plans[0]?.problem === null && plans[0].withdrawal === null;
    });
    await until('the books are the chain', async () => (await shop.proof()).length === 0);
  });

  it('replace gas that is stuck by the same nonce, under the same approval, and count it once', async () => {
    deposits.push(await shop.invoicePaid('USDT_ERC20', 25n * USDT, 25));
    const before = await held(shop.service.dataDir, 'USDT_ERC20');
    const sent = await nonceOf(tank);
    await said(shop.service.dataDir, 'forward', 'send', BUSINESS, 'USDT_ERC20');
    const first = await until('gas is sent', async () => (await waiting())[0]);
    const price = 3n * BigInt(first.maxFeePerGas);
    await scene.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${price.toString(16)}`]);
    await scene.anvil.mine(1);
    expect(await scene.anvil.rpc('eth_getTransactionReceipt', [first.hash])).toBeNull();
    // the price that was read before holds for half a minute, but for no service that begins
    await shop.service.daemon.stop();
    await shop.resume();
    const second = await until('a dearer version is there', async () => {
      const [now] = await waiting();
      return now && now.hash !== first.hash && now;
    });
    expect([second.nonce, second.to, second.value]).toEqual([first.nonce, first.to, first.value]);
    await shop.mining('it arrived', async () => (await shop.tokensAt(cold)) === 85n * USDT);
    const after = await held(shop.service.dataDir, 'USDT_ERC20');
    const gas = after.gas! - before.gas!;
    expect(gas).toBeGreaterThanOrEqual(BigInt(first.value));
    expect(after.gas!).toBeLessThanOrEqual(gasOfDay(wei(FEE_DAY)));
    // what was dearer meanwhile may need a second time gas, and no version of the first counts twice
    const times = (await nonceOf(tank)) - sent;
    expect(times === 1 ? gas : gas > BigInt(first.value)).toEqual(times === 1 ? BigInt(first.value) : true);
    await shop.bury();
  });

  it('of the coin itself go straight from their addresses, but for the gas of the tank', async () => {
    const address = await shop.invoicePaid('ETH', ETHER / 50n, 40);
    const before = await shop.coinsAt(cold);
    await said(shop.service.dataDir, ...set('ETH', '--every', 'reached', '--least', '0.015', '--keep', '0'));
    await shop.mining('it is sent', async () => (await nonceOf(address)) > 0);
    await shop.mining('the payments are over', async () => {
      const all = await forwarded(shop.operator, 'ETH');
      return all.length > 0 && all.every(({ state }) => state === 'completed');
    });
    const paid = (await forwarded(shop.operator, 'ETH')).map(({ amount }) => wei(amount));
    expect((await shop.coinsAt(cold)) - before).toBe(paid.reduce((sum, units) => sum + units, 0n));
    expect(await shop.coinsAt(address)).toBeLessThan(ETHER / 500n);
    // its plan sends what is in the tank, but leaves the gas for a token, and where that has been given
    const token = await shop.invoicePaid('USDT_ERC20', 24n * USDT, 24);
    const there = await shop.tokensAt(cold);
    await shop.fillTank(ETHER / 10n);
    await said(shop.service.dataDir, 'forward', 'send', BUSINESS, 'USDT_ERC20');
    await shop.mining('the token arrived', async () => (await shop.tokensAt(cold)) === there + 24n * USDT);
    expect(gasesTo(token)).toBe(1);
    // the plan looks at its own pace: before the token's run, or after it
    await shop.mining('the tank is sent', async () => (await shop.coinsAt(tank)) < ETHER / 20n);
    await said(shop.service.dataDir, 'forward', 'end', BUSINESS, 'ETH', ...secret());
    await shop.bury();
  });

  it('get no gas that the wallet does not allow: the plan says why, once, and no gas plan ends by that', async () => {
    await shop.fillTank(ETHER / 10n);
    // a run that still goes on would send at once
    await said(shop.service.dataDir, ...set('USDT_ERC20', '--every', 'week', '--weekday', 'monday'));
    await shop.invoicePaid('USDT_ERC20', 26n * USDT, 26);
    const hour = (hours: number): string => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
    await shop.collect(ETHER / 20n, { daily: { from: hour(3), to: hour(4) } });
    const { dataDir } = shop.service;
    const db = () => new Database(join(dataDir, 'countinghouse.db'));
    const before = db();
    const row = before.prepare("SELECT * FROM forward_plan WHERE asset = 'USDT_ERC20'").get() as Record<
      string,
      unknown
    >;
    before.close();
    await said(dataDir, 'forward', 'end', BUSINESS, 'USDT_ERC20', ...secret());
    await shop.service.daemon.stop();
    // a thief of the service keeps the plan, and the wallet knows that it ended
    const thief = db();
    const names = Object.keys(row);
    thief
      .prepare(`INSERT INTO forward_plan (${names.join(', ')}) VALUES (${names.map((name) => `@${name}`).join(', ')})`)
      .run(row);
    thief.close();
    await shop.resume();
    const sent = await nonceOf(tank);
    await said(dataDir, 'forward', 'send', BUSINESS, 'USDT_ERC20');
    await until('the wallet refuses', async () => (await planned(shop.operator)).problem?.code === 'signer.limit');
    expect(await told(shop.operator)).toEqual(['forward.waits']);
    await scene.anvil.mine(1);
    expect([await shop.pending(), await nonceOf(tank), (await shop.desk()).plan?.state]).toEqual([0, sent, 'open']);
    await said(dataDir, ...set('USDT_ERC20', '--every', 'week', '--weekday', 'monday'));
    expect(await told(shop.operator)).toEqual([]);
  });

  it('killed between the gas and the payment, get gas once and pay once', async () => {
    const addresses = [
      await shop.invoicePaid('USDT_ERC20', 28n * USDT, 28),
      await shop.invoicePaid('USDT_ERC20', 27n * USDT, 27),
    ];
    const { key, service } = shop;
    await service.daemon.stop();
    merchant = new Shop();
    await merchant.open();
    victim = new Victim(merchant, null, { dataDir: service.dataDir, key }, config);
    const { dataDir } = victim;
    const operator = () => new Operator(dataDir, PASSPHRASE);
    const [sent, there] = [await nonceOf(tank), await shop.tokensAt(cold)];
    await victim.alive(() => operator().unlock());
    await victim.alive(() => operator().call('forwarding.send', { business: BUSINESS, crypto: 'USDT_ERC20' }));
    await until('the gas of all is sent', async () => (await waiting()).length === 3);
    await victim.kill();
    await shop.bury();
    expect(await shop.tokensAt(cold)).toBe(there);
    await victim.alive(() => operator().unlock());
    await until('a payment is sent', async () => (await shop.pending()) > 0);
    await victim.kill();
    await victim.alive(() => operator().unlock());
    await shop.mining('all arrived', async () => (await shop.tokensAt(cold)) === there + 81n * USDT);
    await shop.bury();
    await until('the payments are over', async () => {
      const all = await forwarded(operator());
      return all.every(({ state }) => state === 'completed') && all.length >= 6;
    });
    expect((await nonceOf(tank)) - sent).toBe(3);
    for (const address of addresses) expect([await nonceOf(address), await shop.tokensAt(address)]).toEqual([1, 0n]);
  });
});
