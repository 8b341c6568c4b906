/**
 * Litestream beside a service on litecoind. Litestream is killed while a shop sells, which leaves of this machine what a power cut
 * would; the service pays once more, and another machine takes over from the replica.
 */
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { restoreDatabase } from '../../daemon/app/backup/restore-database.ts';
import { openByVault } from '../../daemon/wallet/backup-key.ts';
import { hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { hasLitestream, Litestream, litestreamTitle } from '../nodes/litestream.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { openShop, PASSPHRASE } from '../support/shop.ts';

const COIN = 100_000_000n;
const BURIED = 12;
const JUMP = 25;
const CAUGHT_UP_MS = 90_000;
const SOLD_MS = 4_000;
/** Litestream copies each second. The rest is the time that a loaded machine may take for it. */
const LOST_MS_MAX = 5_000;

const title = litestreamTitle(litecoindTitle('a takeover from a replica of Litestream, on litecoind'));

describe.skipIf(!hasLitecoind || !hasLitestream)(title, () => {
  let node: Litecoind;
  let first: TestDaemon;
  let second: TestDaemon;
  let operator: Operator;
  let key: string;
  let folder: string;
  let litestream: Litestream;
  let killedAt: number;
  let unsigned: { id: string; address: string };
  let txid: string;
  /** The invoices that were answered, with the time of the answer. */
  const sold: { id: string; at: number }[] = [];
  const replica = () => join(folder, 'replica.db');

  beforeAll(async () => {
    node = await Litecoind.start();
    await node.fund();
    folder = await mkdtemp(join(tmpdir(), 'countinghouse-litestream-'));
    first = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`));
    const opened = await openShop(first, ['invoices', 'balance', 'withdraw']);
    key = opened.key;
    litestream = Litestream.start(join(first.dataDir, 'countinghouse.db'), folder);
    const address = await until('litecoind is followed', () => newAddress(first));
    await node.pay([{ address, units: 2n * COIN }]);
    await node.mine(BURIED);
    await until('it is spendable', async () => (await balance(first)) === 2);
    unsigned = await request('0.5');
    await opened.operator.approve(unsigned.id);
    await until('it waits for the wallet', async () => (await opened.operator.show(unsigned.id)).problem !== null);
    await until('there is a replica with it', hasReplica, CAUGHT_UP_MS);
    await sellAndKill();
    await opened.operator.unlock();
    txid = await until('it is sent', async () => {
      const sent = (await opened.operator.show(unsigned.id)).versions[0]?.tx_id;
      return sent && (await node.rpc<string[]>('getrawmempool', [])).includes(sent) && sent;
    });
    await node.mine(1);
    await first.daemon.stop();
  });
  afterAll(async () => {
    await litestream?.kill();
    await second?.stop().catch(() => {});
    await first?.stop().catch(() => {});
    await node?.remove();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const call = <Body>(service: TestDaemon, method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const balance = async (service: TestDaemon): Promise<number> =>
    (await call<{ LTC: number }>(service, 'GET', '/balance')).body.LTC;

  async function newAddress(service: TestDaemon): Promise<string | false> {
    const { body } = await call<{ id: string }>(service, 'POST', '/invoice', { amount: 80, crypto: 'LTC' });
    const asked = await call<{ address: string }>(service, 'POST', `/invoice/rp/${body.id}`);
    return asked.status === 201 && asked.body.address;
  }

  async function request(amount: string): Promise<{ id: string; address: string }> {
    const address = await node.newAddress();
    const { body } = await call<{ id: string }>(first, 'POST', '/withdraw', { amount, crypto: 'LTC', address });
    return { id: body.id, address };
  }

  async function hasReplica(): Promise<boolean> {
    const file = join(folder, 'look.db');
    try {
      await litestream.restore(file);
      const db = new Database(file, { readonly: true });
      const found = db.prepare("SELECT COUNT(*) FROM withdrawal WHERE state = 'approved'").pluck().get();
      db.close();
      return found === 1;
    } catch {
      return false;
    } finally {
      for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true });
    }
  }

  /** Two tills sell without a pause; in the middle of it Litestream dies. */
  async function sellAndKill(): Promise<void> {
    const end = Date.now() + SOLD_MS;
    const till = async (): Promise<void> => {
      while (Date.now() < end) {
        const { status, body } = await call<{ id: string }>(first, 'POST', '/invoice', { amount: 10 });
        expect(status).toBe(201);
        sold.push({ id: body.id, at: Date.now() });
      }
    };
    const tills = Promise.all([till(), till()]);
    await until('the tills have sold for a while', async () => Date.now() > end - SOLD_MS / 4);
    await litestream.kill();
    killedAt = Date.now();
    await tills;
  }

  it('loses a second, and the replica is sound', async () => {
    await litestream.restore(replica());
    const opened = await openByVault(join(first.dataDir, 'vault'), PASSPHRASE);
    const dataDir = join(folder, 'taken over');
    await mkdir(dataDir);
    const before = await stat(replica());
    const wallet = { folder: join(first.dataDir, 'vault') };
    const taken = await restoreDatabase(replica(), wallet, opened, dataDir, first.now(), JUMP);
    opened.close();
    expect((await stat(replica())).mtimeMs).toBe(before.mtimeMs);
    expect(Math.abs(Date.parse(taken.made_at) - killedAt)).toBeLessThan(3 * 60_000);
    second = await startTestDaemon(litecoinConfig(`core_rpc = "${node.url}"`), dataDir);
    operator = new Operator(second.dataDir, PASSPHRASE);
    const db = new Database(replica(), { readonly: true });
    const has = db.prepare('SELECT 1 FROM invoice WHERE slug = ?');
    const lost = sold.filter(({ id, at }) => at <= killedAt && !has.get(id));
    db.close();
    const lostMs = lost.length === 0 ? 0 : killedAt - Math.min(...lost.map(({ at }) => at));
    console.log(`Litestream: ${sold.length} invoices sold, ${lost.length} lost of the last ${lostMs} ms`);
    expect(sold.filter(({ at }) => at <= killedAt).length).toBeGreaterThan(lost.length);
    expect(lostMs).toBeLessThan(LOST_MS_MAX);
  });

  it('is quarantined until the operator confirms', async () => {
    expect(await operator.call('restore.status', {})).toMatchObject({ quarantined: true });
    expect(await newAddress(second)).toBe(false);
    const { state, versions } = await operator.show(unsigned.id);
    // the chain may have been read by now
    expect(versions.map(({ tx_id }) => tx_id)).toEqual(state === 'requested' ? [] : [txid]);
  });

  it('pays nobody twice: what the first machine paid after the last copy is found', async () => {
    const found = await until(
      'it is found paid',
      async () => {
        const now = await operator.show(unsigned.id);
        return now.state === 'completed' && now;
      },
      CAUGHT_UP_MS,
    );
    expect(found.tx_id).toBe(txid);
    await until(
      'the service takes over',
      () =>
        operator.call('restore.confirm', { keep_keys: 'all' }).then(
          () => true,
          () => false,
        ),
      CAUGHT_UP_MS,
    );
    await operator.unlock();
    await node.mine(BURIED);
    await until('the balance is what is left', async () => Math.abs((await balance(second)) - 1.5) < 0.01);
    expect(await node.rpc('getreceivedbyaddress', [unsigned.address, 1])).toBe(0.5);
    expect(await newAddress(second)).toEqual(expect.any(String));
  });

  it('is written as little as it is sold', async () => {
    const files = await readdir(join(folder, 'replica'), { recursive: true, withFileTypes: true });
    const sizes = await Promise.all(
      files.filter((one) => one.isFile()).map(async (one) => (await stat(join(one.parentPath, one.name))).size),
    );
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    console.log(`Litestream: a replica of ${bytes} bytes after ${sold.length} invoices`);
    expect(bytes).toBeGreaterThan(0);
  });
});
