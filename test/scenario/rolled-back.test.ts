/**
 * A data directory that comes back older without a restore, on a real litecoind: a snapshot of the whole folder, the database
 * alone, the database with the vault, and a copy that runs beside the original. What was paid since is not paid again, and no
 * address is given out twice. The chain, the stamp of the instance and the signer's journal tell.
 */

import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textOf } from '../../daemon/domain/messages.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { copied } from '../support/copied.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

const COIN = 100_000_000n;
const DEPOSITS = 12;
const BURIED = 12;
const DATABASE = ['countinghouse.db', 'countinghouse.db-wal', 'countinghouse.db-shm'];

type Payment = { id: string; address: string; amount: string; idempotent: string };

describe.skipIf(!hasLitecoind)(litecoindTitle('data that is older than the chain, on litecoind'), () => {
  let node: Litecoind;
  let first: TestDaemon;
  let before: Operator;
  let key: string;
  let folder: string;
  const paid: Record<string, Payment> = {};
  const givenLater: string[] = [];
  const services: TestDaemon[] = [];

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-older-'));
    first = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    ({ key, operator: before } = await openShop(first, ['invoices', 'balance', 'withdraw']));
    await node.pay(
      await Promise.all(
        Array.from({ length: DEPOSITS }, async () => ({ address: await newAddress(first), units: 2n * COIN })),
      ),
    );
    await node.mine(BURIED);
    await until('the deposits are spendable', async () => (await balance(first)) === 2 * DEPOSITS);
    await before.unlock();
    await before.allow({ business: 'Regtest shop', per_withdrawal_usd: '80', per_day_usd: '5000' });
    await before.call('wallet.lock', {});
    for (const [name, amount] of [
      ['by policy', '0.51'],
      ['approved', '1.02'],
      ['asked', '1.03'],
    ] as const)
      await request(first, name, amount);
    await before.approve(paid.approved!.id);
    await copied(first.dataDir, join(folder, 'earlier'));
    await workAfterSnapshot();
  });
  afterAll(async () => {
    for (const service of services) await service.stop().catch(() => {});
    await first?.stop().catch(() => {});
    await node?.remove();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const call = <Body>(service: TestDaemon, method: string, path: string, body?: unknown, headers = {}) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key, ...headers });
  const balance = async (service: TestDaemon): Promise<number> =>
    (await call<{ LTC: number }>(service, 'GET', '/balance')).body.LTC;

  async function askForAddress(service: TestDaemon) {
    const { body } = await call<{ id: string }>(service, 'POST', '/invoice', { amount: 80, crypto: 'LTC' });
    return call<{ address: string }>(service, 'POST', `/invoice/rp/${body.id}`);
  }

  const newAddress = (service: TestDaemon): Promise<string> =>
    until('an address is given out', async () => {
      const { status, body } = await askForAddress(service);
      return status === 201 && body.address;
    });

  async function request(service: TestDaemon, name: string, amount: string): Promise<void> {
    const address = await node.newAddress();
    const idempotent = `request ${name}`;
    const wanted = { amount, crypto: 'LTC', address };
    const { body } = await call<{ id: string }>(service, 'POST', '/withdraw', wanted, {
      'idempotency-key': idempotent,
    });
    paid[name] = { id: body.id, address, amount, idempotent };
  }

  const received = async (): Promise<Record<string, number>> => {
    const entries = Object.entries(paid).map(async ([name, { address }]) => {
      const units = await node.rpc<number>('getreceivedbyaddress', [address, 0]);
      return [name, units] as const;
    });
    return Object.fromEntries(await Promise.all(entries));
  };
  const once = (): Record<string, number> =>
    Object.fromEntries(Object.entries(paid).map(([name, { amount }]) => [name, Number(amount)]));

  /** Pays everything, asks for one more payment, and gives out addresses, of which two are paid. */
  async function workAfterSnapshot(): Promise<void> {
    await before.unlock();
    await until('the policy lets one go', async () => (await before.show(paid['by policy']!.id)).versions[0]?.tx_id);
    await before.approve(paid.asked!.id);
    await request(first, 'asked later', '0.54');
    for (const name of Object.keys(paid)) {
      await until(`"${name}" is sent`, async () => {
        const txid = (await before.show(paid[name]!.id)).versions[0]?.tx_id;
        return txid && (await node.rpc<string[]>('getrawmempool', [])).includes(txid);
      });
    }
    for (let i = 0; i < 5; i++) givenLater.push(await newAddress(first));
    await node.mine(BURIED + 1);
    await node.pay(givenLater.slice(0, 2).map((address) => ({ address, units: COIN })));
    await node.mine(BURIED);
    await until('the later deposits are seen', async () => {
      const left = await balance(first);
      return left > 2 * DEPOSITS - 3.2 + 1.99;
    });
    expect(await received()).toEqual(once());
    await first.daemon.stop();
  }

  /** The data of the end, with these parts of the snapshot. */
  async function comeBack(parts: readonly string[] | 'all'): Promise<{ service: TestDaemon; operator: Operator }> {
    const made = join(folder, `back ${services.length}`);
    await copied(parts === 'all' ? join(folder, 'earlier') : first.dataDir, made);
    for (const part of parts === 'all' ? [] : parts) {
      await rm(join(made, part), { recursive: true, force: true });
      await cp(join(folder, 'earlier', part), join(made, part), { recursive: true }).catch(() => {});
    }
    const service = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`), made);
    services.push(service);
    return { service, operator: new Operator(service.dataDir, PASSPHRASE) };
  }

  const older = async (operator: Operator) =>
    (await operator.call('alert.list', {})).alerts.filter(({ kind }) => kind === 'data.older');

  async function paysNobodyTwice(parts: readonly string[] | 'all', sign: string): Promise<void> {
    const { service, operator } = await comeBack(parts);
    // whatever it is asked before its first view
    expect((await askForAddress(service)).status).toBe(503);
    const [alert] = await until('it says so', async () => {
      const found = await older(operator);
      return found.length > 0 && found;
    });
    expect(alert && textOf(alert.message)).toContain(sign);
    await operator.unlock();
    expect((await askForAddress(service)).status).toBe(503);
    const { address, amount, idempotent } = paid['asked later']!;
    const again = { amount, crypto: 'LTC', address };
    const repeat = () =>
      call<{ id: string; status: string }>(service, 'POST', '/withdraw', again, { 'idempotency-key': idempotent });
    // the key sleeps, because it may have been revoked meanwhile
    expect((await repeat()).status).toBe(503);
    await until('the operator takes over', () =>
      operator.call('restore.confirm', { keep_keys: 'all' }).catch(() => null),
    );
    const { body } = await repeat();
    for (const name of ['by policy', 'approved', 'asked'])
      await until(`"${name}" is found paid`, async () => (await operator.show(paid[name]!.id)).state === 'completed');
    // the shop's repeated request waits, because the policy is suspended
    if (Number(body.id) !== Number(paid['asked later']!.id)) {
      expect((await operator.show(body.id)).state).toBe('requested');
    }
    const fresh = await Promise.all(Array.from({ length: 5 }, () => newAddress(service)));
    expect(fresh.filter((one) => givenLater.includes(one))).toEqual([]);
    await node.mine(2);
    expect(await received()).toEqual(once());
    expect(await older(operator)).toEqual([]);
    await service.daemon.stop();
  }

  it('as a snapshot of the whole folder pays nobody twice: the chain tells', async () => {
    await paysNobodyTwice('all', '(regtest:LTC)');
  });

  it('as the database alone pays nobody twice: the stamp beside it tells', async () => {
    await paysNobodyTwice(DATABASE, 'an earlier one');
  });

  it('as the database with its stamp pays nobody twice: the signer’s journal tells', async () => {
    await paysNobodyTwice([...DATABASE, 'instance.json'], 'The signer made');
  });

  it('as the database with the vault pays nobody twice: the stamp tells', async () => {
    await paysNobodyTwice([...DATABASE, 'vault'], 'an earlier one');
  });

  it('that is what it was, after a restart and a kill, says nothing', async () => {
    const { service, operator } = await comeBack([]);
    await until('an address is given out', async () => (await askForAddress(service)).status === 201);
    expect(await older(operator)).toEqual([]);
    await service.restart();
    await until('an address is given out', async () => (await askForAddress(service)).status === 201);
    expect(await older(operator)).toEqual([]);
    await service.daemon.stop();
  });

  it('and runs on two machines at once: each is told of what the other paid', async () => {
    const one = await comeBack([]);
    const other = await comeBack([]);
    for (const { service } of [one, other])
      await until('an address is given out', async () => (await askForAddress(service)).status === 201);
    const payWith = async ({ service, operator }: Awaited<ReturnType<typeof comeBack>>, name: string) => {
      // more than the policy lets go
      await request(service, name, '1.07');
      await operator.unlock();
      await operator.approve(paid[name]!.id);
      await until(`"${name}" is sent`, async () => (await operator.show(paid[name]!.id)).versions[0]?.tx_id);
      await node.mine(BURIED);
    };
    await payWith(one, 'by the one');
    await until('the other is told', async () => (await older(other.operator)).length === 1);
    expect(await older(one.operator)).toEqual([]);
    await until('the other takes over', () =>
      other.operator.call('restore.confirm', { keep_keys: 'all' }).catch(() => null),
    );
    await payWith(other, 'by the other');
    await until('the one is told', async () => (await older(one.operator)).length === 1);
    expect((await askForAddress(one.service)).status).toBe(503);
    expect(await received()).toEqual(once());
    await one.service.daemon.stop();
    await other.service.daemon.stop();
  });
});
