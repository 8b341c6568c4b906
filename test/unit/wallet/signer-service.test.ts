/**
 * The signer as a service of its own user. With two users where the superuser runs the tests, otherwise with one: then only
 * the ways of the protocol are seen.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { grantFirst } from '../../../daemon/cli/grant-first.ts';
import { runCli } from '../../../daemon/cli/program.ts';
import { Session } from '../../../daemon/cli/session.ts';
import { handOver } from '../../../daemon/cli/signer.ts';
import { readBackupKey } from '../../../daemon/wallet/backup-key.ts';
import { socketChannel } from '../../../daemon/wallet/signer/channel.ts';
import { SignerClient } from '../../../daemon/wallet/signer/client.ts';
import { epochOf } from '../../../daemon/wallet/signer/journal.ts';
import { Peer } from '../../../daemon/wallet/signer/peer.ts';
import { isAway, SEAL_CHANGE, SEAL_CUSTODY, SEAL_UNLOCK } from '../../../daemon/wallet/signer/port.ts';
import { seal } from '../../../daemon/wallet/signer/seal.ts';
import { serveSigner } from '../../../daemon/wallet/signer/service.ts';
import { bundled } from '../../support/bundles.ts';
import { as, DAEMON_UID, GROUP, isRoot, SIGNER_UID } from '../../support/users.ts';
import { cheapWallet } from '../../support/wallet.ts';
import { fakeIo } from '../cli-kit.ts';
import { codeOf, grantOf, PASSPHRASE, payment, useEpochOf, WORDS } from './signer-kit.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'signer-service-'));
  await chmod(root, 0o755);
});
afterAll(() => rm(root, { recursive: true, force: true }));

const sandbox = { sign: () => Promise.reject(new Error('no sandbox here')) };
const clientOf = (socket: string): SignerClient =>
  new SignerClient({
    folder: '/nonexistent',
    remote: socket,
    autoLockMinutes: 0,
    source: () => ({ kind: 'prompt' }),
    sandbox,
    log: () => {},
  });

async function folders(name: string) {
  const [wallet, run] = [join(root, name, 'wallet'), join(root, name, 'run')];
  await mkdir(join(root, name), { mode: 0o755 });
  await mkdir(wallet, { mode: 0o700 });
  await mkdir(run, { mode: 0o750 });
  await cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE });
  await useEpochOf(wallet);
  return { wallet, run, socket: join(run, 'signer.sock') };
}

const optionsOf = (folder: string, socket: string) => ({
  folder,
  socket,
  autoLockMinutes: 0,
  source: () => ({ kind: 'prompt' as const }),
  log: () => {},
});

describe.skipIf(process.platform === 'win32')('the signer on a socket', () => {
  it('is opened, signs, grants, changes its passphrase and locks as the child process does', async () => {
    const { wallet, socket } = await folders('one');
    const options = optionsOf(wallet, socket);
    const service = await serveSigner(options);
    expect((await stat(socket)).mode & 0o777).toBe(0o660);
    expect(await codeOf(serveSigner(options))).toBe('signer.service');
    const daemon = clientOf(socket);
    expect(await daemon.status()).toMatchObject({ state: 'locked', fingerprint: '73c5da0a' });
    const task = JSON.stringify({ do: 'words', passphrase: PASSPHRASE, reply: 'ab'.repeat(32) });
    expect(await codeOf(daemon.custody(await seal(await daemon.sealKey(), SEAL_CUSTODY, task)))).toBe(
      'signer.unsupported',
    );
    const order = payment('LTC', ['service']);
    expect(await codeOf(daemon.sign(order))).toBe('signer.locked');
    // another one opens it: the operator's own
    const operator = clientOf(socket);
    expect(await codeOf(operator.unlock(await seal(await operator.sealKey(), SEAL_UNLOCK, 'wrong')))).toBe(
      'vault.passphrase',
    );
    await operator.unlock(await seal(await operator.sealKey(), SEAL_UNLOCK, PASSPHRASE));
    expect((await daemon.status()).state).toBe('unlocked');
    const signed = await daemon.sign(order);
    expect(await daemon.sign(order)).toEqual(signed);
    const grant = { network: 'regtest' as const, accountNo: 0, asset: 'LTC' as const, perWithdrawal: '1', perDay: '1' };
    await daemon.grantPolicy(...grantOf({ ...grant, addresses: null, issuedAt: Date.now() }));
    const passphrases = JSON.stringify({ old: PASSPHRASE, new: 'another horse' });
    await operator.changePassphrase(await seal(await operator.sealKey(), SEAL_CHANGE, passphrases));
    expect((await operator.lock()).state).toBe('locked');
    expect(await codeOf(daemon.sign(order))).toBe('signer.locked');
    await operator.unlock(await seal(await operator.sealKey(), SEAL_UNLOCK, 'another horse'));
    expect(await daemon.sign(order)).toEqual(signed);
    await Promise.all([daemon.close(), operator.close()]);
    await service.close();
    const late = clientOf(socket);
    expect((await late.status()).state).toBe('locked');
    await late.close();
  });

  it('opens itself by a file from its start on, also after a request that needed no open wallet', async () => {
    const { wallet, socket } = await folders('itself');
    const file = join(root, 'itself', 'passphrase');
    await writeFile(file, PASSPHRASE, { mode: 0o600 });
    const service = await serveSigner({ ...optionsOf(wallet, socket), source: () => ({ kind: 'file', path: file }) });
    const daemon = clientOf(socket);
    // this starts the process that holds the words
    await daemon.sealKey();
    await expect.poll(async () => (await daemon.status()).state, { timeout: 90_000 }).toBe('unlocked');
    await daemon.close();
    await service.close();
  });

  it('and a service of another release say so to each other, and payments wait', async () => {
    const { wallet, run, socket } = await folders('releases');
    const words = expect.objectContaining({
      name: 'Unavailable',
      message: expect.stringContaining('of another release than the service: `countinghouse service install`'),
    });
    const service = await serveSigner(optionsOf(wallet, socket));
    const peer = new Peer(socketChannel(socket), () => {});
    await expect(peer.ask({ call: 'signLater' } as never, 10_000)).rejects.toEqual(words);
    await peer.stop();
    await service.close();
    const older = createServer((connection) => {
      connection.on('data', (line) => {
        const { id } = JSON.parse(String(line)) as { id: number };
        connection.write(`${JSON.stringify({ id, end: 'ok', result: { state: 'dozing' } })}\n`);
      });
    }).listen(join(run, 'older.sock'));
    await once(older, 'listening');
    const daemon = clientOf(join(run, 'older.sock'));
    await expect(daemon.sealKey()).rejects.toEqual(words);
    expect(isAway(await daemon.status())).toBe(true);
    await daemon.close();
    older.close();
  });

  it('does not begin in a folder that others may enter, nor on a socket in one that they may write', async () => {
    const { wallet, run, socket } = await folders('open');
    const options = optionsOf(wallet, socket);
    await chmod(wallet, 0o750);
    expect(await codeOf(serveSigner(options))).toBe('signer.service');
    await chmod(wallet, 0o700);
    await chmod(run, 0o770);
    expect(await codeOf(serveSigner(options))).toBe('signer.service');
  });

  it('is locked, and told its limits, past a service that keeps them back', async () => {
    const { wallet, socket } = await folders('direct');
    const service = await serveSigner({
      folder: wallet,
      socket,
      autoLockMinutes: 0,
      source: () => ({ kind: 'prompt' }),
      log: () => {},
    });
    const operator = clientOf(socket);
    await operator.unlock(await seal(await operator.sealKey(), SEAL_UNLOCK, PASSPHRASE));
    const env = { COUNTINGHOUSE_SIGNER_SOCKET: socket, COUNTINGHOUSE_SIGNER_DIR: wallet };
    const limits = { network: 'regtest' as const, accountNo: 0, asset: 'LTC' as const, addresses: null };
    const [grant, mac] = grantOf({ ...limits, perWithdrawal: '0', perDay: '0', issuedAt: 2 });
    await grantFirst(new Session(fakeIo(env).io, { dataDir: root }), [grant], [mac]);
    const earlier = grantOf({ ...limits, perWithdrawal: '9', perDay: '9', issuedAt: 1 });
    await expect(operator.grantPolicy(...earlier)).rejects.toThrow('Newer limits are in force already');
    // no service runs here: the wallet is locked all the same
    const { io } = fakeIo(env);
    await runCli(['--data-dir', root, 'wallet', 'lock'], io);
    expect((await operator.status()).state).toBe('locked');
    await operator.close();
    await service.close();
  });

  it("forgets every approval and limit at the operator's word, also while it is locked", async () => {
    const { wallet, socket } = await folders('revoked');
    const service = await serveSigner({
      folder: wallet,
      socket,
      autoLockMinutes: 0,
      source: () => ({ kind: 'prompt' }),
      log: () => {},
    });
    const order = payment('LTC', ['kept']);
    const before = await epochOf(wallet);
    const file = join(root, 'passphrase-of-revoked');
    await writeFile(file, PASSPHRASE);
    const { io } = fakeIo({ COUNTINGHOUSE_SIGNER_SOCKET: socket, COUNTINGHOUSE_SIGNER_DIR: wallet });
    await runCli(['--data-dir', root, 'wallet', 'revoke', '--yes', '--passphrase-file', file], io);
    const after = await epochOf(wallet);
    expect(after).toMatch(/^[0-9a-f]{32}$/);
    expect(after).not.toBe(before);
    const daemon = clientOf(socket);
    await expect(daemon.sign(order)).rejects.toThrow('its approvals were revoked');
    await useEpochOf(wallet);
    expect((await daemon.sign(payment('LTC', ['anew']))).fee).toBe(2_000n);
    await daemon.close();
    await service.close();
  });

  it('gets no passphrase from the command line where others could have put a socket', async () => {
    const { wallet, run, socket } = await folders('others');
    const told: Buffer[] = [];
    const thief = createServer((connection) => connection.on('data', (part: Buffer) => told.push(part)));
    thief.listen({ path: socket });
    await once(thief, 'listening');
    await chmod(run, 0o777);
    const file = join(root, 'passphrase');
    await writeFile(file, PASSPHRASE);
    const env = { COUNTINGHOUSE_SIGNER_SOCKET: socket, COUNTINGHOUSE_SIGNER_DIR: wallet };
    const { io, ran } = fakeIo(env);
    await runCli(['--data-dir', root, 'wallet', 'unlock', '--passphrase-file', file], io);
    expect(ran.err).toContain('can be written by others');
    expect(Buffer.concat(told)).toHaveLength(0);
    thief.close();
  });
});

describe.runIf(isRoot && process.platform === 'linux')('with a user of its own', () => {
  it('gets the wallet that the superuser makes, and no link of the daemon leads the superuser anywhere', async () => {
    const place = join(root, 'made');
    const [wallet, run, data] = [join(place, 'wallet'), join(place, 'run'), join(place, 'data')];
    await mkdir(place, { mode: 0o755 });
    for (const folder of [wallet, run, data]) await mkdir(folder, { mode: 0o700 });
    await chown(wallet, SIGNER_UID, GROUP);
    // a folder that is the superuser's, which the daemon's user names in place of its own
    const precious = join(place, 'precious');
    await mkdir(precious, { mode: 0o700 });
    await symlink(precious, join(data, 'vault'));
    await chown(data, DAEMON_UID, GROUP);
    const env = { COUNTINGHOUSE_SIGNER_DIR: wallet, COUNTINGHOUSE_SIGNER_SOCKET: join(run, 'signer.sock') };
    const session = () => new Session(fakeIo(env).io, { dataDir: data });
    await session().asOwner(() => cheapWallet(wallet, { words: WORDS, passphrase: PASSPHRASE }));
    await expect(handOver(session())).rejects.toThrow('could not be written');
    expect(await readdir(precious)).toEqual([]);
    expect((await stat(precious)).uid).toBe(0);
    await rm(join(data, 'vault'));
    await handOver(session());
    const owners = async (folder: string) =>
      Promise.all((await readdir(folder)).sort().map(async (name) => [name, (await stat(join(folder, name))).uid]));
    expect(await owners(wallet)).toEqual([
      ['backup-key-73c5da0a.json', SIGNER_UID],
      ['signer-journal.head', SIGNER_UID],
      ['signer-journal.jsonl', SIGNER_UID],
      ['wallet.json', SIGNER_UID],
    ]);
    expect(await owners(join(data, 'vault'))).toEqual([['backup-key-73c5da0a.json', DAEMON_UID]]);
    expect((await readBackupKey(join(data, 'vault'))).fingerprint).toBe('73c5da0a');
  });

  it('shows the user of the daemon no file, and signs for it', async () => {
    const { wallet, run, socket } = await folders('two');
    for (const folder of [wallet, run]) {
      await chown(folder, SIGNER_UID, GROUP);
      for (const name of await readdir(folder)) await chown(join(folder, name), SIGNER_UID, GROUP);
    }
    const data = join(root, 'two', 'data');
    await mkdir(data, { mode: 0o700 });
    await chown(data, DAEMON_UID, GROUP);
    const program = await bundled('daemon/cli.ts');
    const child = spawn(process.execPath, [program, 'signer', '--folder', wallet, '--socket', socket], {
      uid: SIGNER_UID,
      gid: GROUP,
      env: { HOME: '/nonexistent', PATH: process.env.PATH },
    });
    let said = '';
    child.stderr.on('data', (part: Buffer) => {
      said += part;
    });
    try {
      while (!said.includes('is served on')) {
        if (child.exitCode !== null) throw new Error(`the signer ended: ${said}`);
        await Promise.race([once(child.stderr, 'data'), once(child, 'exit')]);
      }
      // the superuser opens it, and reads its key from nowhere else
      const file = join(root, 'root-passphrase');
      await writeFile(file, PASSPHRASE, { mode: 0o600 });
      const operator = clientOf(socket);
      await operator.unlock(await seal(await operator.sealKey(), SEAL_UNLOCK, PASSPHRASE));
      await operator.close();
      const name = (path: string): string => JSON.stringify(path);
      expect(await as(DAEMON_UID, `fs.readdirSync(${name(wallet)})`)).toBe('EACCES');
      expect(await as(DAEMON_UID, `fs.readFileSync(${name(join(wallet, 'wallet.json'))})`)).toBe('EACCES');
      expect(await as(DAEMON_UID, `fs.rmSync(${name(join(wallet, 'signer-journal.head'))})`)).toBe('EACCES');
      expect(await as(DAEMON_UID, `fs.rmSync(${name(socket)})`)).toBe('EACCES');
      expect(await as(DAEMON_UID, `fs.renameSync(${name(socket)}, ${name(`${socket}.old`)})`)).toBe('EACCES');
      expect(await as(DAEMON_UID, `fs.writeFileSync(${name(join(run, 'mine'))}, '')`)).toBe('EACCES');
      expect(await as(DAEMON_UID, `fs.readFileSync('/proc/${child.pid}/environ')`)).toBe('EACCES');
      // it may ask, and is answered what the judge says
      const status = await as(
        DAEMON_UID,
        `const { SignerClient } = await import(${name(join(import.meta.dirname, '../../../daemon/wallet/signer/client.ts'))});
         const signer = new SignerClient({ folder: '/nonexistent', remote: ${name(socket)}, autoLockMinutes: 0,
           source: () => ({ kind: 'prompt' }), sandbox: {}, log: () => {} });
         process.stdout.write((await signer.status()).state + ' '); await signer.close()`,
      );
      expect(status).toBe('unlocked done');
      // a stranger does not get to the socket
      const stranger = await promisify(execFile)(
        process.execPath,
        ['-e', `require('net').connect({ path: ${name(socket)} }).on('error', (error) => console.log(error.code))`],
        { uid: DAEMON_UID + 1, gid: GROUP + 1 },
      );
      expect(stranger.stdout.trim()).toBe('EACCES');
    } finally {
      child.kill('SIGTERM');
      if (child.exitCode === null) await once(child, 'exit');
    }
  });
});
