/**
 * A plan that sends the takings on, on a real litecoind and by the command line: it pays exactly what it said, once although the
 * service is killed in the middle, nobody but the address that the wallet was granted, and nothing after its end.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limitsHeldIn } from '../../daemon/wallet/signer/register.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { litecoinConfig, startTestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';
import { cli } from '../unit/cli-kit.ts';
import { Shop } from './shop.ts';
import { Victim } from './victim.ts';

const COIN = 100_000_000n;
const BUSINESS = 'Regtest shop';
const DEEP = 12;

describe.skipIf(!hasLitecoind)(litecoindTitle('takings that are forwarded on litecoind'), () => {
  let node: Litecoind;
  let shop: Shop;
  let victim: Victim;
  let cold: string;
  let thief: string;
  let secret: string;

  const fresh = (): Promise<string> => node.rpc<string>('getnewaddress', []);
  const receivedAt = (address: string): Promise<number> => node.rpc<number>('getreceivedbyaddress', [address, 1]);
  const operator = (): Operator => new Operator(victim.dataDir, PASSPHRASE);
  const forwarded = async (of: Operator) => {
    const { withdrawals } = await of.call('withdrawal.list', { business: BUSINESS });
    return withdrawals.filter(({ origin }) => origin === 'forward');
  };
  /** The newest of so many payments, in this state. */
  const when = (of: Operator, count: number, state: string) =>
    until(`payment ${count} is ${state}`, async () => {
      const all = await forwarded(of);
      return all.length === count && all[0]?.state === state && all[0];
    });
  /** What a command says, where it succeeds. */
  async function said(dataDir: string, ...argv: string[]): Promise<string> {
    const { code, out, err } = await cli(dataDir, [...argv, '--yes']);
    expect([code, err.split('\n').find((line) => line.startsWith('error'))]).toEqual([0, undefined]);
    return out;
  }
  /** Of an invoice of so many coins, since an overpayment waits for a decision. */
  const address = async (coins: number): Promise<string> => {
    const { text } = await victim.call('POST', '/invoice', { amount: 80 * coins, crypto: 'LTC' });
    const { id } = JSON.parse(text) as { id: string };
    return until('litecoind is followed', async () => {
      const paid = await victim.call('POST', `/invoice/rp/${id}`);
      return paid.status === 201 && (JSON.parse(paid.text) as { address: string }).address;
    });
  };

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    shop = new Shop();
    await shop.open();
    [cold, thief] = [await fresh(), await fresh()];
  });
  afterAll(async () => {
    await victim?.destroy();
    await shop?.close();
    await node?.remove();
  });

  it('sends all but what it keeps to the address of the book, within its fee', async () => {
    const config = litecoinConfig(`core_rpc = "${node.url}"`);
    const service = await startTestDaemon(config);
    const { key, operator: first } = await openShop(service, ['invoices', 'balance']);
    const { dataDir } = service;
    secret = join(dataDir, 'passphrase');
    await writeFile(secret, PASSPHRASE, { mode: 0o600 });
    await first.unlock();
    await said(dataDir, 'address-book', 'add', BUSINESS, 'LTC', cold, 'Cold storage');
    await said(dataDir, 'address-book', 'add', BUSINESS, 'LTC', thief, 'Mallory');
    const limits = ['--fee-share', '0.01', '--fee-max', '0.01', '--fee-day', '0.02', '--passphrase-file', secret];
    const set = [
      'forward',
      'set',
      BUSINESS,
      'LTC',
      cold,
      '--every',
      'reached',
      '--keep',
      '1',
      '--least',
      '2',
      ...limits,
    ];
    expect(await said(dataDir, ...set)).toContain('as soon as the sum is there');
    const { forwards } = await limitsHeldIn(join(dataDir, 'vault'), Date.now());
    expect(forwards.map(({ grant }) => [grant.address, grant.feeSharePpm, grant.feeMax, grant.feeDay])).toEqual([
      [cold, 10_000, '1000000', '2000000'],
    ]);
    const call = <Body>(method: string, path: string, body?: unknown) =>
      service.call<Body>(method, path, body, { 'mb-api-key': key });
    const { body: invoice } = await call<{ id: string }>('POST', '/invoice', { amount: 400, crypto: 'LTC' });
    const to = await until('litecoind is followed', async () => {
      const paid = await call<{ address: string }>('POST', `/invoice/rp/${invoice.id}`);
      return paid.status === 201 && paid.body.address;
    });
    await node.pay([{ address: to, units: 5n * COIN }]);
    await node.mine(DEEP);
    const sent = await when(first, 1, 'broadcast');
    await node.mine(DEEP);
    const done = await when(first, 1, 'completed');
    expect(sent.address).toBe(cold);
    expect(await receivedAt(cold)).toBe(Number(done.amount));
    expect(Number(done.fee)).toBeLessThan(0.01);
    const { body: left } = await call<{ LTC: number }>('GET', '/balance');
    expect(left.LTC).toBeCloseTo(5 - Number(done.amount) - Number(done.fee), 8);
    expect(left.LTC).toBeGreaterThanOrEqual(1);
    expect(left.LTC).toBeLessThan(1.01);
    await service.daemon.stop();
    victim = new Victim(shop, null, { dataDir, key }, config);
    await service.stop();
    secret = join(victim.dataDir, 'passphrase');
  });

  it('killed when it begins a payment, pays it once after the next start', async () => {
    const to = await victim.alive(async () => {
      await operator().unlock();
      return address(4);
    });
    await node.pay([{ address: to, units: 4n * COIN }]);
    const before = await receivedAt(cold);
    victim.doom();
    await node.mine(DEEP);
    await until('the service is dead', async () => victim.deaths === 1);
    await victim.alive(() => operator().unlock());
    await when(operator(), 2, 'broadcast');
    await victim.kill();
    await victim.alive(() => operator().unlock());
    await node.mine(DEEP);
    const done = await when(operator(), 2, 'completed');
    const { versions } = await operator().show(done.id);
    expect(versions.map(({ tx_id }) => tx_id)).toEqual([done.tx_id]);
    expect((await receivedAt(cold)) - before).toBeCloseTo(Number(done.amount), 8);
  });

  it('changed by a thief of the service, pays nobody, and tells it once', async () => {
    await victim.kill();
    const db = new Database(join(victim.dataDir, 'countinghouse.db'));
    expect(db.prepare('UPDATE forward_plan SET address = ?').run(thief).changes).toBe(1);
    db.close();
    const to = await victim.alive(async () => {
      await operator().unlock();
      return address(3);
    });
    await node.pay([{ address: to, units: 3n * COIN }]);
    await node.mine(DEEP);
    const refused = await when(operator(), 3, 'rejected');
    expect(refused).toMatchObject({ address: thief, tx_id: null });
    expect(refused.reason?.code).toBe('signer.limit');
    const alerts = await until('it is told', async () => {
      const { alerts } = await operator().call('alert.list', {});
      const own = alerts.filter(({ kind }) => kind === 'forward.waits');
      return own.length > 0 && own;
    });
    expect(alerts).toHaveLength(1);
    await node.mine(1);
    expect(await receivedAt(thief)).toBe(0);
    const { plans } = await operator().call('forwarding.list', { business: BUSINESS });
    expect(plans.map(({ problem }) => problem?.code)).toEqual(['signer.limit']);
  });

  it('sends nothing after its end, which reaches the wallet, and closes its alert', async () => {
    const end = ['forward', 'end', BUSINESS, 'LTC', '--passphrase-file', secret];
    expect(await said(victim.dataDir, ...end)).toBe('LTC is not forwarded any more.\n');
    expect((await limitsHeldIn(join(victim.dataDir, 'vault'), Date.now())).forwards).toEqual([]);
    expect(await said(victim.dataDir, 'forward', 'list', BUSINESS)).toBe('Nothing is forwarded.\n');
    const { alerts } = await operator().call('alert.list', {});
    expect(alerts.filter(({ kind }) => kind === 'forward.waits')).toEqual([]);
    expect(await forwarded(operator())).toHaveLength(3);
    const { code, err } = await cli(victim.dataDir, ['forward', 'preview', BUSINESS, 'LTC']);
    expect([code, err]).toEqual([1, expect.stringContaining('forwards no LTC')]);
  });
});
