/**
 * The move from a wallet on a server to one at home with Ether, its tether and Monero, on real nodes: first by new words and sweeps, as
 * `signer move` names them, then of the same words, whose late payments are signed for at home.
 */
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { parseDecimal } from '../../daemon/domain/money.ts';
import { freePort } from '../nodes/litecoind.ts';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { ETHER } from '../support/evm-shop.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';
import { type Families, familiesTitle, hasFamilies, startFamilies } from './families.ts';
import { HomeComputer, isOpen } from './home-computer.ts';
import { Merchant } from './merchant.ts';
import { commandOf, type Moving, ran, stepOf, walletFiles } from './moving-kit.ts';

const COINS = ['ETH', 'USDT_ERC20', 'XMR'] as const;
type Coin = (typeof COINS)[number];

describe.skipIf(!hasFamilies || process.platform === 'win32')(familiesTitle('a move home of other families'), () => {
  let nodes: Families;
  let old: TestDaemon;
  let fresh: TestDaemon;
  let home: HomeComputer;
  /** The computer that the old words go to. */
  let other: HomeComputer;
  /** Addresses of the old words that payers know. */
  const known = new Map<Coin, string>();
  /** Of the new words. */
  const destinations = new Map<string, string>();

  const secret = () => ['--passphrase-file', join(old.dataDir, 'passphrase')];
  const onOld = (...argv: string[]) => ran(old.dataDir, ...argv);
  const oldMove = async (): Promise<Moving> => JSON.parse(await onOld('--json', 'signer', 'move'));
  const homeMove = async (): Promise<Moving> => JSON.parse(await home.ran('--json', 'signer', 'move'));
  const stateOf = async (id: number) =>
    (await operatorClient(old.dataDir)('withdrawal.show', { id: `${id}` })).withdrawal.state;
  const balanceOf = async (service: TestDaemon, name: string, crypto: string) => {
    const { businesses } = await operatorClient(service.dataDir)('business.list', {});
    return Number(businesses.find((one) => one.name === name)?.balances.find((one) => one.crypto === crypto)?.amount);
  };
  /** Mines what waits for a block until the withdrawals are over. */
  const over = async (ids: readonly number[]): Promise<void> => {
    await until('the withdrawals are completed', async () => {
      await nodes.minePool();
      return (await Promise.all(ids.map(stateOf))).every((state) => state === 'completed');
    });
  };
  /** Runs the sweeps that are next, and their approvals. `approve`: the command without its number. */
  const sweepNext = async (
    cryptos: readonly Coin[],
    run: (...argv: string[]) => Promise<string>,
    ...more: string[]
  ): Promise<void> => {
    const ids: number[] = [];
    for (const crypto of cryptos) {
      const to = destinations.get(crypto)!;
      const { withdrawal } = JSON.parse(await run('--json', 'withdrawal', 'sweep', '2', crypto, to));
      const expected = ['--to', to, '--amount', withdrawal.amount, '--crypto', crypto, '--fee-max', '1'];
      await run('withdrawal', 'approve', `${withdrawal.id}`, ...expected, ...more);
      ids.push(withdrawal.id);
    }
    await over(ids);
  };

  beforeAll(async () => {
    buildConsole();
    [nodes, home, other] = await Promise.all([startFamilies(), HomeComputer.make(), HomeComputer.make(PASSPHRASE)]);
    const console = async () => `[console]\nport = ${await freePort()}\n${nodes.config}`;
    old = await startTestDaemon(await console());
    fresh = await startTestDaemon(await console());
    const { key, operator } = await openShop(old);
    await writeFile(join(old.dataDir, 'passphrase'), PASSPHRASE);
    await operator.unlock();
    const shop = new Merchant(old, key);
    const paid: string[] = [];
    for (const [crypto, usd] of [
      ['ETH', 40],
      ['ETH', 20],
      ['USDT_ERC20', 30],
      ['XMR', 400],
    ] as const) {
      const { id, address } = await shop.invoice(crypto, usd);
      known.set(crypto, address);
      paid.push(id);
      if (crypto === 'ETH') await nodes.payEther(address, (BigInt(usd) * ETHER) / 2_000n);
      else if (crypto === 'XMR') await nodes.payMonero(address, [10n, 10n]);
      else await nodes.payTether(address, 30_000_000n);
    }
    await nodes.mature();
    for (const id of paid) await shop.isPaid(id);
  });
  afterAll(async () => {
    await home?.remove();
    await other?.remove();
    await old?.stop();
    await fresh?.stop();
    await nodes?.stop();
  });

  it('has an address of the new words for each coin, by the commands that are named', async () => {
    await home.join(operatorClient(fresh.dataDir));
    await home.addBusiness();
    await home.connect();
    await isOpen(operatorClient(fresh.dataDir));
    for (let moving = await homeMove(); moving.next !== null; moving = await homeMove()) {
      expect(moving.next).toMatch(/^address 2 (ETH|USDT_ERC20|XMR)$/);
      await home.ran(...commandOf(stepOf(moving, moving.next)));
    }
    const { invoices } = await operatorClient(fresh.dataDir)('invoice.list', { order_id: 'own-money' });
    for (const { slug } of invoices) {
      const { payment } = (await operatorClient(fresh.dataDir)('invoice.show', { invoice: slug })).invoice;
      destinations.set(payment!.crypto, payment!.address);
    }
    expect([...destinations.keys()].sort()).toEqual([...COINS]);
  });

  it('names the tokens before the coin of their gas, and the gas that they need', async () => {
    await onOld(...commandOf(stepOf(await oldMove(), 'shop')));
    const moving = await oldMove();
    expect(moving.next).toBe('money');
    const money = stepOf(moving, 'money');
    expect(money.commands.map(({ command }) => command)).toEqual([
      'countinghouse withdrawal sweep 2 XMR ADDRESS',
      'countinghouse withdrawal sweep 2 USDT_ERC20 ADDRESS',
      'countinghouse withdrawal approve NUMBER',
    ]);
    const [, amount, tank] = /Regtest shop needs (0\.\d+) ETH for gas; send it to (0x[0-9a-fA-F]{40})/.exec(
      money.text,
    )!;
    await nodes.payEther(tank!, parseDecimal(amount!, 18)!);
    await nodes.mature(0);
    await until('the gas is there', async () => !stepOf(await oldMove(), 'money').text.includes('for gas'));
    await sweepNext(['USDT_ERC20', 'XMR'], onOld, ...secret());
    expect(await nodes.tetherAt(destinations.get('USDT_ERC20')!)).toBe(30_000_000n);
  });

  it('collects the coin from its addresses, and is done although the rest of the gas stays', async () => {
    const money = stepOf(await oldMove(), 'money');
    expect(money.commands.map(({ command }) => command)).toEqual([
      'countinghouse withdrawal sweep 2 ETH ADDRESS',
      'countinghouse withdrawal approve NUMBER',
    ]);
    await sweepNext(['ETH'], onOld, ...secret());
    await nodes.mature(0);
    const done = await until('nothing else is left', async () => {
      const now = await oldMove();
      return now.next === 'vault' && now;
    });
    expect(stepOf(done, 'money').text).toMatch(
      /^No money is left but what is worth less than its fee, and stays \(Regtest shop: 0\.0000\d+ ETH\)\.$/,
    );
    expect(stepOf(done, 'vault').commands[1]?.command).toContain(`mv ${old.dataDir}/vault/wallet.json `);
  });

  it('has all of it at home, and keeps it out of the takings', async () => {
    await nodes.mature();
    const moving = await until('all is confirmed', async () => {
      const now = await homeMove();
      const steps = now.steps.filter(({ step }) => step.startsWith('address '));
      return steps.every(({ commands }) => commands.length === 1) && now;
    });
    for (const crypto of COINS) await home.ran(...commandOf(stepOf(moving, `address 2 ${crypto}`)));
    expect((await homeMove()).next).toBeNull();
    expect(await balanceOf(fresh, 'Shop', 'USDT_ERC20')).toBe(30);
    // two deposits of 0.02 and 0.01 and what was sent for gas, less the fees
    expect(await balanceOf(fresh, 'Shop', 'ETH')).toBeGreaterThan(0.0295);
    await until('the last block is read', async () => (await balanceOf(fresh, 'Shop', 'XMR')) > 1.9);
    const { periods } = await operatorClient(fresh.dataDir)('takings.list', { business: '2', by: 'day', periods: 2 });
    expect(periods.map(({ payments }) => payments)).toEqual(periods.map(() => 0));
  });

  it('moves the same words with their record: late payments are signed for at home', async () => {
    await old.daemon.stop();
    const vault = join(other.serverFolder, 'vault');
    await mkdir(vault, { recursive: true, mode: 0o700 });
    for (const name of await walletFiles(old.dataDir))
      await rename(join(old.dataDir, 'vault', name), join(vault, name));
    await old.resume();
    const call = operatorClient(old.dataDir);
    await other.join(call);
    expect(JSON.parse(await other.done('--json', 'signer', 'audit'))).toMatchObject({ given: 4, found: [] });
    await other.connect();
    await isOpen(call);
    await nodes.payEther(known.get('ETH')!, ETHER / 50n);
    await nodes.payMonero(known.get('XMR')!, [10n]);
    await nodes.mature();
    await until('they can be spent', async () => {
      return (
        (await balanceOf(old, 'Regtest shop', 'XMR')) >= 1 && (await balanceOf(old, 'Regtest shop', 'ETH')) >= 0.02
      );
    });
    const before = await nodes.etherAt(destinations.get('ETH')!);
    await sweepNext(['ETH', 'XMR'], (...argv) => other.ran(...argv), ...other.passphrase);
    expect((await nodes.etherAt(destinations.get('ETH')!)) - before).toBeGreaterThan(ETHER / 51n);
    expect(await walletFiles(old.dataDir)).toEqual([]);
    await until('they arrived', async () => (await balanceOf(fresh, 'Shop', 'ETH')) > 0.049);
  });
});
