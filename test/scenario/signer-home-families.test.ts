/**
 * What a computer at home signs beside Litecoin, on real nodes: Ether and its tether on an anvil, Monero on a monerod, by approval, by
 * policy and by forwarding plans, for a server that has public keys and Monero's view key alone.
 */
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checksumAddress } from '../../daemon/chains/evm/address.ts';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Call } from '../../daemon/contract/operator.ts';
import { parseDecimal } from '../../daemon/domain/money.ts';
import { freePort } from '../nodes/litecoind.ts';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { ETHER } from '../support/evm-shop.ts';
import { type Families, familiesTitle, hasFamilies, startFamilies } from './families.ts';
import { HomeComputer, isOpen } from './home-computer.ts';
import { Merchant } from './merchant.ts';

describe.skipIf(!hasFamilies || process.platform === 'win32')(familiesTitle('the other families at home'), () => {
  let nodes: Families;
  let service: TestDaemon;
  let call: Call;
  let home: HomeComputer;
  let shop: Merchant;

  const show = async (id: string) => (await call('withdrawal.show', { id })).withdrawal;
  const completed = (...ids: string[]) =>
    until('they are completed', async () => {
      const all = await Promise.all(ids.map(show));
      return all.every(({ state }) => state === 'completed') && all;
    });
  /** Waits until a withdrawal is with its node, and has it included. */
  const paid = async (...ids: string[]) => {
    for (const id of ids) await until('it is sent', async () => (await show(id)).state === 'broadcast');
    await nodes.mine(1);
    return completed(...ids);
  };

  beforeAll(async () => {
    buildConsole();
    [nodes, home] = await Promise.all([startFamilies(), HomeComputer.make()]);
    service = await startTestDaemon(`[console]\nport = ${await freePort()}\n${nodes.config}`);
    call = operatorClient(service.dataDir);
    await home.join(call);
    shop = new Merchant(service, (await home.addBusiness()).key.key);
    await home.connect();
    await isOpen(call);
  });
  afterAll(async () => {
    await home?.remove();
    await service?.stop();
    await nodes?.stop();
  });

  it('are received, although the server has public keys and the view key alone', async () => {
    const [ether, tether, monero] = [
      await shop.invoice('ETH', 40),
      await shop.invoice('USDT_ERC20', 30),
      await shop.invoice('XMR', 400),
    ];
    await nodes.payEther(ether.address, ETHER / 50n);
    await nodes.payTether(tether.address, 30_000_000n);
    // an output for each payment, since change is locked for ten blocks
    await nodes.payMonero(monero.address, [5n, 5n, 5n, 5n]);
    await nodes.mature();
    for (const { id } of [ether, tether, monero]) await shop.isPaid(id);
    const balances = await Promise.all(['ETH', 'USDT_ERC20', 'XMR'].map((crypto) => shop.balance(crypto)));
    expect(balances).toEqual([0.02, 30, 2]);
    const files = (await readdir(join(service.dataDir, 'vault'))).filter((name) => !name.startsWith('sandbox-'));
    expect(files).toEqual([expect.stringMatching(/^backup-key-[0-9a-f]{8}\.json$/)]);
  });

  it('are paid by an approval at home', async () => {
    const [ether, monero] = [freshEther(), await nodes.freshMonero()];
    const ids = [await shop.withdraw('ETH', '0.006', ether), await shop.withdraw('XMR', '0.2', monero)];
    for (const id of ids) await home.done('withdrawal', 'approve', id);
    await paid(...ids);
    expect([await nodes.etherAt(ether), await nodes.moneroAt(monero)]).toEqual([6n * 10n ** 15n, 2n * 10n ** 11n]);
  });

  it('are paid by a policy of home once the computer is back, and no further than it says', async () => {
    await home.done('policy', 'set', 'Shop', '--mode', 'automatic', '--per-withdrawal', '12', '--per-day', '25');
    await home.leave();
    const [ether, monero] = [freshEther(), await nodes.freshMonero()];
    const ids = [await shop.withdraw('ETH', '0.005', ether), await shop.withdraw('XMR', '0.06', monero)];
    for (const id of ids) {
      const waiting = await until('it waits', async () => {
        const now = await show(id);
        return now.problem !== null && now;
      });
      expect(waiting).toMatchObject({
        state: 'approved',
        approved_by: 'policy',
        problem: { code: 'wait.machine_away' },
      });
    }
    await home.connect();
    await paid(...ids);
    expect([await nodes.etherAt(ether), await nodes.moneroAt(monero)]).toEqual([5n * 10n ** 15n, 6n * 10n ** 10n]);
    const more = await shop.withdraw('XMR', '0.05', monero);
    expect(await show(more)).toMatchObject({ state: 'requested', problem: { code: 'ask.day' } });
    await home.ran('withdrawal', 'reject', more);
  });

  it('are sent on by plans of home, a token with gas from the tank', async () => {
    const [ether, monero] = [freshEther(), await nodes.freshMonero()];
    const tank = async () =>
      (await call('gas.status', {})).desks.find(({ network, chain }) => network === 'regtest' && chain === 'ETH')!.tank;
    await nodes.payEther((await tank()).address, ETHER / 20n);
    await nodes.mature(0);
    await until('the tank is full', async () => (await tank()).amount === '0.05');
    for (const [crypto, chain, to] of [
      ['USDT_ERC20', 'ETH', ether],
      ['XMR', 'XMR', monero],
    ] as const) {
      await home.ran('address-book', 'add', 'Shop', chain, to, 'Cold storage');
      const limits = ['--fee-max', '0.05', '--fee-day', '0.1'];
      await home.done('forward', 'set', 'Shop', crypto, to, '--every', 'reached', ...limits);
    }
    const forwarded = async () => {
      const { withdrawals } = await call('withdrawal.list', { business: 'Shop' });
      return withdrawals.filter(({ origin }) => origin === 'forward');
    };
    const done = await until('both arrived', async () => {
      await nodes.minePool();
      const all = await forwarded();
      return all.length === 2 && all.every(({ state }) => state === 'completed') && all;
    });
    const sent = new Map(done.map(({ crypto, amount }) => [crypto, amount]));
    expect([sent.get('USDT_ERC20'), await nodes.tetherAt(ether)]).toEqual(['30', 30_000_000n]);
    const units = parseDecimal(sent.get('XMR') ?? '', 12);
    expect(await nodes.moneroAt(monero)).toBe(units);
    // what is left is the change of the payments before, which is locked
    expect(units).toBeGreaterThan(9n * 10n ** 11n);
    expect(done.map(({ approved_by }) => approved_by)).toEqual(['forward', 'forward']);
  });

  it('are compared at home with the keys there', async () => {
    expect(JSON.parse(await home.ran('--json', 'signer', 'audit'))).toMatchObject({ given: 3, found: [], notes: [] });
  });
});

/** An address that begins and ends like no other one, since a policy pays none that could be taken for another. */
const freshEther = (): string => checksumAddress(randomBytes(20));
