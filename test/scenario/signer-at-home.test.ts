/**
 * A server without a key and a computer at home with the wallet, on a real litecoind: the words are made at home, a withdrawal is
 * approved and signed there, waits while the computer is away, and goes on by itself.
 */
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import type { Call } from '../../daemon/contract/operator.ts';
import { signAtHome } from '../../daemon/home/signing.ts';
import { freePort, hasLitecoind, Litecoind, litecoindTitle } from '../nodes/litecoind.ts';
import { buildConsole } from '../support/console.ts';
import { litecoinConfig, startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';

const COIN = 100_000_000n;
const PASSPHRASE = 'correct horse battery staple';

describe.skipIf(!hasLitecoind || process.platform === 'win32')(litecoindTitle('the signer at home'), () => {
  let node: Litecoind;
  let service: TestDaemon;
  let call: Call;
  let home: string;
  let key: string;
  let running: Awaited<ReturnType<typeof signAtHome>> | null = null;

  const atHome = async (...argv: string[]): Promise<string> => {
    const { code, out, err } = await cli(home, ['--server', 'shop', '--yes', ...argv]);
    expect(err.includes('error:') ? err : code).toBe(0);
    return out;
  };
  const passphrase = () => ['--passphrase-file', join(home, 'passphrase')];
  const connect = async (): Promise<void> => {
    const folder = join(home, 'servers', 'shop');
    running = await signAtHome({
      folder,
      release: 'test',
      autoLockMinutes: 0,
      log: () => {},
      told: () => {},
      audit: { env: {}, told: () => {} },
      source: () => ({ kind: 'file', path: join(home, 'passphrase') }),
    });
    await until('the wallet at home is connected and open', async () => {
      return (await call('wallet.status', {})).wallet.state === 'unlocked';
    });
  };
  const merchant = <Body>(method: string, path: string, body?: unknown) =>
    service.call<Body>(method, path, body, { 'mb-api-key': key });
  const show = async (id: string) => (await call('withdrawal.show', { id })).withdrawal;
  const request = async (address: string): Promise<string> => {
    const { body } = await merchant<{ id: string }>('POST', '/withdraw', { amount: '1.5', crypto: 'LTC', address });
    return body.id;
  };
  const received = (address: string): Promise<number> => node.rpc<number>('getreceivedbyaddress', [address, 1]);

  beforeAll(async () => {
    buildConsole();
    home = await mkdtemp(join(tmpdir(), 'countinghouse-home-'));
    await writeFile(join(home, 'passphrase'), PASSPHRASE);
    node = await Litecoind.start();
    await node.fund();
    // a computer at home finds its server again at the same port
    const port = await freePort();
    service = await startTestDaemon(`[console]\nport = ${port}\n${litecoinConfig(`core_rpc = "${node.url}"`)}`);
    call = operatorClient(service.dataDir);
    const { server, code } = await call('signer.invite', {});
    const joined = await cli(home, ['signer', 'join', server, code, '--as', 'shop', '--name', 'Laptop']);
    expect([joined.code, joined.out]).toEqual([0, expect.stringContaining('It knows this computer as "Laptop"')]);
  });
  afterAll(async () => {
    await running?.close();
    await service?.stop();
    await node?.remove();
    await rm(home, { recursive: true, force: true });
  });

  it('makes the words at home, and gives the server public keys alone', async () => {
    const add = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--i-have-the-words', ...passphrase()];
    const added = JSON.parse(await atHome('--json', ...add));
    key = added.key.key;
    expect(added.wallet.words).toHaveLength(24);
    const kept = await readdir(join(service.dataDir, 'vault'));
    expect(kept.filter((name) => !name.startsWith('sandbox-'))).toEqual([
      `backup-key-${added.wallet.fingerprint}.json`,
    ]);
    const { machines } = await call('signer.machines', {});
    expect(machines).toMatchObject([{ name: 'Laptop', fingerprint: added.wallet.fingerprint, connected: false }]);
  });

  it('makes no words on the server, and says where they are', async () => {
    const here = (...argv: string[]) => cli(service.dataDir, ['--yes', ...argv, ...passphrase()]);
    const there = 'the computer Laptop signs for this server and keeps its words: run this command there';
    const add = ['business', 'add', '--name', 'Stall', '--network', 'regtest', '--i-have-the-words'];
    expect(await here(...add)).toMatchObject({ code: 1, err: expect.stringContaining(there) });
    const words = ['restore', 'words', '--network', 'regtest', '--birthday', '2026-01-31'];
    expect(await here(...words)).toMatchObject({ code: 1, err: expect.stringContaining(there) });
    const policy = ['policy', 'set', '2', '--mode', 'automatic', '--per-withdrawal', '10', '--per-day', '20'];
    expect(await here(...policy)).toMatchObject({ code: 1, err: expect.stringContaining(there) });
    expect(await readdir(join(service.dataDir, 'vault'))).not.toContain('wallet.json');
  });

  it('starts no service in the folder of its words', async () => {
    const { code, err } = await cli(home, ['--server', 'shop', 'start', '--port', '0']);
    expect([code, err]).toEqual([2, 'error: start runs a service on this computer: leave --server out\n']);
  });

  it('takes a payment while the computer is away', async () => {
    const { body } = await merchant<{ id: string }>('POST', '/invoice', { amount: 800, crypto: 'LTC' });
    const address = await until('an address is given out', async () => {
      const paid = await merchant<{ address: string }>('POST', `/invoice/rp/${body.id}`);
      return paid.status === 201 && paid.body.address;
    });
    await node.pay([{ address, units: 10n * COIN }]);
    await node.mine(12);
    await until('it can be spent', async () => (await merchant<{ LTC: number }>('GET', '/balance')).body.LTC === 10);
  });

  it('pays what is approved at home, once it is signed there', async () => {
    await connect();
    const address = await node.rpc<string>('getnewaddress', []);
    const asked = await atHome('withdrawal', 'add', 'Shop', '1.5', 'LTC', address);
    const [, id = ''] = /approve it with 'countinghouse --server shop withdrawal approve (\d+)'/.exec(asked) ?? [];
    await atHome('withdrawal', 'approve', id, ...passphrase());
    await until('it is sent', async () => (await show(id)).state === 'broadcast');
    await node.mine(1);
    await until('it is completed', async () => (await show(id)).state === 'completed');
    expect(await received(address)).toBe(1.5);
  });

  it('waits while the computer is away, and goes on when it is back', async () => {
    await running?.close();
    running = null;
    const address = await node.rpc<string>('getnewaddress', []);
    const id = await request(address);
    await atHome('withdrawal', 'approve', id, ...passphrase());
    const waiting = await until('it waits', async () => {
      const now = await show(id);
      return now.problem !== null && now;
    });
    expect(waiting).toMatchObject({
      state: 'approved',
      problem: { code: 'wait.machine_away', values: { machine: 'Laptop' } },
    });
    expect((await call('doctor', {})).findings.filter(({ subject }) => subject === 'wallet')).toMatchObject([
      { level: 'ok' },
    ]);
    // a restart of the server changes nothing
    await service.restart();
    call = operatorClient(service.dataDir);
    await connect();
    await until('it is sent', async () => (await show(id)).state === 'broadcast');
    await node.mine(1);
    await until('it is completed', async () => (await show(id)).state === 'completed');
    expect(await received(address)).toBe(1.5);
  });

  it('compares what was given out, and the page of an unpaid invoice, with its own keys', async () => {
    const { body } = await merchant<{ id: string }>('POST', '/invoice', { amount: 80, crypto: 'LTC' });
    await merchant('POST', `/invoice/rp/${body.id}`);
    const found = JSON.parse(await atHome('--json', 'signer', 'audit'));
    expect(found).toMatchObject({ pages: 1, found: [], notes: [], given: 2, page_at: expect.any(String) });
    // all was compared while it was connected, or now; and the unpaid one again
    expect(found.checked).toBeGreaterThan(0);
  });

  it('stops signing when the server gives a foreign address, says so loudest, and signs again once the operator has looked', async () => {
    const theirs = await node.rpc<string>('getnewaddress', []);
    await service.daemon.stop();
    const database = new Database(join(service.dataDir, 'countinghouse.db'));
    database.prepare("UPDATE payment SET address = ? WHERE status = 'pending'").run(theirs);
    database.close();
    await service.resume();
    call = operatorClient(service.dataDir);
    const { code, err } = await cli(home, ['--server', 'shop', 'signer', 'audit']);
    expect([code, err]).toEqual([4, expect.stringContaining('shop SHOWS AN ADDRESS THAT IS NOT YOURS')]);
    expect(err.replaceAll(' ', '')).toContain(theirs);
    expect(err).toContain('payers see it on the payment page');
    const address = await node.rpc<string>('getnewaddress', []);
    const id = await request(address);
    const approve = ['--server', 'shop', '--yes', 'withdrawal', 'approve', id, ...passphrase()];
    expect(await cli(home, approve)).toMatchObject({ code: 4, out: '' });
    await until('the server sees no open wallet', async () => {
      return (await call('wallet.status', {})).wallet.state === 'locked';
    });
    const resume = ['--server', 'shop', 'signer', 'resume', '--yes', '--passphrase-file'];
    await writeFile(join(home, 'wrong'), 'another passphrase');
    expect((await cli(home, [...resume, join(home, 'wrong')])).code).not.toBe(0);
    expect((await cli(home, ['--server', 'shop', 'signer', 'audit'])).code).toBe(4);
    expect(await cli(home, [...resume, join(home, 'passphrase')])).toMatchObject({ code: 0 });
    expect((await cli(home, ['--server', 'shop', 'signer', 'audit'])).code).toBe(0);
    await atHome('withdrawal', 'approve', id, ...passphrase());
    await until('it is sent', async () => (await show(id)).state === 'broadcast');
  });
});
