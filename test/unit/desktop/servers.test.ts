/** The servers of the desktop program: joined, removed and listed at the same time, and what lies in their folders. */
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { newCode } from '../../../daemon/contract/signing-machine.ts';
import { Rejected } from '../../../daemon/domain/errors.ts';
import { keychainFileIn, readServer, serverFolder, walletFolderIn, writeServer } from '../../../daemon/home/place.ts';

vi.mock('electron', async () => (await import('./electron.ts')).electron);
const { Servers } = await import('../../../main/servers.ts');
const { KeychainCommands } = await import('../../../main/keychain.ts');
const { Service } = await import('../../../main/service.ts');

const SERVICE = 'A'.repeat(87);
const machine = { kty: 'EC', crv: 'P-256', x: 'x', y: 'y', d: 'd' };
const NAMES = ['127.0.0.1-1', 'b.example', 'c.example'];

let dataDir: string;
let servers: InstanceType<typeof Servers>;
const alarmed: string[] = [];

async function known(name: string): Promise<string> {
  const folder = serverFolder(dataDir, name);
  await writeServer(folder, { url: 'http://127.0.0.1:1', service: SERVICE, name: 'Laptop', machine });
  return folder;
}
const listed = async () => (await servers.list()).servers.map(({ name }) => name);

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'servers-'));
  alarmed.length = 0;
  for (const name of NAMES) await known(name);
  servers = new Servers({
    dataDir,
    release: 'test',
    command: [process.execPath, '-e', '0'],
    env: {},
    logFileOf: (server) => join(dataDir, `${server}.log`),
    told: () => {},
    alarmed: (server) => alarmed.push(server),
    unwatched: () => {},
    changed: () => {},
  });
  await servers.open();
});
afterEach(async () => {
  vi.useRealTimers();
  await servers.close();
  await rm(dataDir, { recursive: true, force: true });
});

describe('the servers', () => {
  it('that are removed do not come back by a list that was begun before', async () => {
    const lists = Array.from({ length: 20 }, () => servers.list());
    const removed = NAMES.map((name) => servers.remove(name));
    lists.push(...Array.from({ length: 20 }, () => servers.list()));
    await Promise.all([...lists, ...removed]);
    expect(servers.names).toEqual([]);
    expect(await listed()).toEqual([]);
  });

  it('keep their alarm in the list when the file beside it is damaged, and can be removed', async () => {
    const folder = serverFolder(dataDir, NAMES[0]!);
    await writeFile(join(folder, 'foreign-address.json'), '{}');
    await writeFile(join(folder, 'server.json'), '{');
    const [damaged] = (await servers.list()).servers;
    expect(damaged).toMatchObject({ name: NAMES[0], url: '', alarm: { seen: [], more: 0 }, signs: false });
    await servers.remove(NAMES[0]!);
    expect(await listed()).toEqual(NAMES.slice(1));
  });

  it('have the passphrase taken out of the keychain when they are removed while its question is open', async () => {
    const forget = vi.spyOn(KeychainCommands.prototype, 'forget').mockResolvedValue();
    await writeFile(`${keychainFileIn(serverFolder(dataDir, NAMES[0]!))}-begun`, '73c5da0a\n');
    for (const name of NAMES.slice(0, 2)) await servers.remove(name);
    expect(forget).toHaveBeenCalledTimes(1);
    forget.mockRestore();
  });

  it.skipIf(process.platform === 'win32')(
    'leave the connections to a wallet that signs for long to its operator',
    async () => {
      const wallet = walletFolderIn(serverFolder(dataDir, NAMES[0]!));
      await mkdir(wallet, { mode: 0o700 });
      const busy = createServer();
      busy.listen(join(wallet, 'operator.sock'));
      await once(busy, 'listening');
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const list = servers.list();
      const [connection] = (await once(busy, 'connection')) as [Socket];
      const ended = once(connection.resume(), 'close');
      vi.advanceTimersByTime(10_000);
      await ended;
      expect((await list).servers[0]).toMatchObject({ wallet: 'none', signs: false });
      busy.close();
    },
  );

  it.skipIf(process.platform === 'win32')(
    'keep a wallet open in the list that signs for long: it can be locked',
    async () => {
      const wallet = walletFolderIn(serverFolder(dataDir, NAMES[0]!));
      await mkdir(wallet, { mode: 0o700 });
      await writeFile(join(wallet, 'wallet.json'), '{}');
      const result = { state: 'unlocked', fingerprint: null, lockAt: null, retryAfterSeconds: 0, wordsUnproved: false };
      const signer = createServer((socket) =>
        socket.once('data', (line) =>
          socket.write(`${JSON.stringify({ ...JSON.parse(`${line}`), end: 'ok', result })}\n`),
        ),
      );
      const shown = async () => (await servers.list()).servers[0];
      signer.listen(join(wallet, 'operator.sock'));
      await once(signer, 'listening');
      expect(await shown()).toMatchObject({ wallet: 'unlocked', signs: true });
      signer.removeAllListeners('connection');
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const silent = shown();
      const [connection] = (await once(signer, 'connection')) as [Socket];
      const ended = once(connection.resume(), 'close');
      vi.advanceTimersByTime(10_000);
      await ended;
      expect(await silent).toMatchObject({ wallet: 'unlocked', signs: true });
      await new Promise((closed) => signer.close(closed));
      expect(await shown()).toMatchObject({ wallet: 'locked', signs: false });
    },
  );

  it('get no words that signed for another one under the same name, unless the operator says so', async () => {
    const folder = serverFolder(dataDir, NAMES[0]!);
    await mkdir(walletFolderIn(folder), { mode: 0o700 });
    await writeFile(join(walletFolderIn(folder), 'wallet.json'), '{}');
    const [same, other] = [await newCode(SERVICE), await newCode('B'.repeat(87))];
    const tried = (code: string, takesPlace?: boolean) =>
      servers
        .join({ address: 'http://127.0.0.1:1', code, name: 'Laptop', takesPlace })
        .catch((error: Error) => (error instanceof Rejected ? error.code : error.message));
    expect(await tried(other)).toBe('signer.other_server');
    // nobody listens there: it was asked
    for (const asked of [tried(other, true), tried(same)]) expect(await asked).toContain('does not answer');
    await servers.remove(NAMES[0]!);
    expect(await tried(same)).toBe('signer.other_server');
  });

  it('that are onion services need a proxy, which is kept', async () => {
    const code = await newCode(SERVICE);
    const tried = (address: string, proxy?: string) =>
      servers
        .join({ address, code, name: 'Laptop', proxy })
        .catch((error: Error) => (error instanceof Rejected ? error.code : error.message));
    for (const proxy of [undefined, ' ', 'http://127.0.0.1:8118']) {
      expect(await tried(`${'a'.repeat(56)}.onion`, proxy)).toBe('signer.proxy');
    }
    const gone = 'nothing listens at the proxy socks5h://127.0.0.1:1';
    expect(await tried(`${'a'.repeat(56)}.onion`, ' 127.0.0.1:1 ')).toContain(gone);
    expect(await tried('http://127.0.0.1:1', '127.0.0.1:1')).toContain(gone);
    const folder = serverFolder(dataDir, NAMES[0]!);
    await writeServer(folder, { ...(await readServer(folder)), proxy: 'socks5h://127.0.0.1:1' });
    const [first, second] = (await servers.list()).servers;
    expect([first!.proxy, second!.proxy]).toEqual(['socks5h://127.0.0.1:1', null]);
  });
});

it('a process that was to start while the program is closed is not started', async () => {
  const { promise: asked, reject: noAnswer } = Promise.withResolvers<void>();
  const states: string[] = [];
  const service = new Service({
    command: [process.execPath, '-e', 'setInterval(() => {}, 1000)'],
    env: {},
    logFile: join(dataDir, 'service.log'),
    answers: () => asked,
    changed: ({ is }) => states.push(is),
  });
  const opened = service.open();
  await service.close();
  noAnswer(new Error('nobody'));
  await opened;
  await service.close();
  expect(states).not.toContain('starting');
});
