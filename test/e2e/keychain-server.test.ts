/** The passphrase of a server's wallet in a real keychain of the computer at home, by the desktop program's own parts and the command line. */
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { operatorClient } from '../../daemon/contract/client.ts';
import { joinServer } from '../../daemon/home/dial.ts';
import { isRemembered, serverFolder, walletFolderIn, writeServer } from '../../daemon/home/place.ts';
import { readKeychain, writeKeychain } from '../../daemon/wallet/signer/keychain.ts';
import { freePort } from '../nodes/litecoind.ts';
import { bundled } from '../support/bundles.ts';
import { buildConsole } from '../support/console.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cheapWallet } from '../support/wallet.ts';
import { cli } from '../unit/cli-kit.ts';
import { BUS_VARIABLE, DesktopSession, hasKeychain } from './keychain-kit.ts';

vi.mock('electron', async () => (await import('../unit/desktop/electron.ts')).electron);
const { desktopMethods } = await import('../../main/methods.ts');
const { Servers } = await import('../../main/servers.ts');

const FINGERPRINT = '73c5da0a';
const WORDS = `${'abandon '.repeat(11)}about`;
const FRESH = 'another passphrase of the test';
const NEWEST = 'the newest passphrase of the test';

if (hasKeychain) {
  describe('the passphrase of a server’s wallet in the keychain', () => {
    let root: string;
    let home: string;
    let there: TestDaemon;
    let session: DesktopSession;
    let servers: InstanceType<typeof Servers>;
    const folder = () => serverFolder(home, 'shop');
    const entry = { fingerprint: FINGERPRINT, server: 'shop' };
    /** Of the same words at another server, and in the service of this computer. */
    const others = [
      { fingerprint: FINGERPRINT, server: 'stall' },
      { fingerprint: FINGERPRINT, server: null },
    ];

    const shop = () => servers.get('shop')!;
    const wallet = async () => (await shop().call('wallet.status', {})).wallet;
    const state = async () => (await servers.list()).servers[0]?.wallet;
    const isOpen = async () => (await state()) === 'unlocked';
    const secret = async (name: string, text: string): Promise<string> => {
      await writeFile(join(root, name), `${text}\n`);
      return join(root, name);
    };
    const atHome = (...argv: string[]) => cli(home, ['--server', 'shop', 'wallet', ...argv]);
    const begin = async (): Promise<void> => {
      servers = new Servers({
        dataDir: home,
        release: 'test',
        command: [process.execPath, await bundled('daemon/cli.ts')],
        env: { ...process.env, COUNTINGHOUSE_DATA_DIR: home },
        logFileOf: (server) => join(root, `${server}.log`),
        told: () => {},
        alarmed: () => {},
        unwatched: () => {},
        changed: () => {},
      });
      await servers.open();
    };
    const beginAgain = async (): Promise<void> => {
      await servers.close();
      await begin();
    };

    beforeAll(async () => {
      buildConsole();
      root = await mkdtemp(join(tmpdir(), 'keychain-'));
      home = join(root, 'home');
      session = new DesktopSession(root);
      process.env[BUS_VARIABLE] = session.address;
      await session.start();
      await session.openKeychain();
      there = await startTestDaemon(`[console]\nport = ${await freePort()}\n`);
      const { server, code } = await operatorClient(there.dataDir)('signer.invite', {});
      await writeServer(folder(), await joinServer(server, code, 'Laptop'));
      await mkdir(walletFolderIn(folder()), { mode: 0o700 });
      await cheapWallet(walletFolderIn(folder()), { words: WORDS, passphrase: PASSPHRASE });
      for (const other of others) await writeKeychain(other, 'of another wallet');
      await begin();
    });
    afterAll(async () => {
      await servers?.close();
      await there?.stop();
      await session?.stop();
      await rm(root, { recursive: true, force: true });
    });

    it('is put there only if it is right, under the names of server and wallet', async () => {
      expect(await wallet()).toMatchObject({ state: 'locked', unlock: 'prompt', fingerprint: FINGERPRINT });
      await expect(shop().keychain.remember('a guess')).rejects.toThrow('does not open this wallet');
      expect(await readKeychain(entry)).toBeNull();
      expect(isRemembered(folder())).toBe(false);
      const remembered = { state: 'unlocked', unlock: 'keychain', separate: false, locks_at: null };
      expect(await shop().keychain.remember(PASSPHRASE)).toMatchObject(remembered);
      expect(await readKeychain(entry)).toBe(PASSPHRASE);
      expect(JSON.parse((await atHome('status', '--json')).out).wallet).toMatchObject(remembered);
      const kept = await Promise.all(
        (await readdir(folder(), { recursive: true, withFileTypes: true }))
          .filter((file) => file.isFile())
          .map((file) => readFile(join(file.parentPath, file.name), 'utf8')),
      );
      expect(kept.join('\n')).not.toContain(PASSPHRASE);
    });

    it('opens the wallet when the program begins', async () => {
      await beginAgain();
      await until('the wallet opens by itself', isOpen);
      // the server has its own word for it, and no passphrase
      const asked = await operatorClient(there.dataDir)('wallet.status', {});
      expect(asked.wallet).toMatchObject({ state: 'unlocked', unlock: 'prompt' });
    });

    it('stays locked by the operator’s word until the operator opens it', async () => {
      expect(await atHome('lock')).toMatchObject({ code: 0 });
      expect(await state()).toBe('locked');
      await shop().keyholder.unlock(PASSPHRASE);
      expect(await isOpen()).toBe(true);
    });

    it('is the new one after a change, by the program and by a terminal', async () => {
      const methods = desktopMethods(shop() as never);
      await methods['desktop.changePassphrase']({ old: PASSPHRASE, fresh: FRESH });
      expect(await readKeychain(entry)).toBe(FRESH);
      await beginAgain();
      await until('the wallet opens by itself', isOpen);
      const change = ['--passphrase-file', await secret('old', FRESH)];
      const fresh = ['--new-passphrase-file', await secret('fresh', PASSPHRASE)];
      expect(await atHome('passphrase', ...change, ...fresh)).toMatchObject({ code: 0 });
      expect(await readKeychain(entry)).toBe(PASSPHRASE);
    });

    it('needs no server: it is put there, and changed, while that is away', async () => {
      await there.daemon.stop();
      const now = ['--passphrase-file', await secret('now', PASSPHRASE)];
      expect(await atHome('unlock', '--remember', ...now)).toMatchObject({ code: 0, out: '' });
      const { keychain } = shop();
      expect(await keychain.forget()).toMatchObject({ state: 'locked', unlock: 'prompt' });
      expect(await keychain.remember(PASSPHRASE)).toMatchObject({ state: 'unlocked', unlock: 'keychain' });
      const methods = desktopMethods(shop() as never);
      const changed = await methods['desktop.changePassphrase']({ old: PASSPHRASE, fresh: FRESH });
      expect(changed).toMatchObject({ state: 'unlocked', unlock: 'keychain' });
      expect(await readKeychain(entry)).toBe(FRESH);
      const change = ['--passphrase-file', await secret('old', FRESH)];
      const newest = ['--new-passphrase-file', await secret('newest', NEWEST)];
      const { code, err } = await atHome('passphrase', ...change, ...newest);
      expect([code === 0, err]).toEqual([false, expect.stringContaining('The passphrase is changed')]);
      expect(await readKeychain(entry)).toBe(NEWEST);
      await there.resume();
    });

    it('is forgotten by a command, which locks the wallet', async () => {
      expect(await atHome('forget')).toMatchObject({ code: 0, out: 'The keychain has forgotten it.\n' });
      expect([await readKeychain(entry), await state(), isRemembered(folder())]).toEqual([null, 'locked', false]);
      expect(await atHome('forget')).toMatchObject({ code: 0, out: 'The keychain had none.\n' });
    });

    it('is forgotten with the server, which stays while the keychain is locked', async () => {
      await until('the server answers', () =>
        wallet().then(
          () => true,
          () => false,
        ),
      );
      await shop().keychain.remember(NEWEST);
      await session.openKeychain(entry);
      await expect(servers.remove('shop')).rejects.toThrow('The keychain is locked');
      expect([servers.names, isRemembered(folder())]).toEqual([['shop'], true]);
      await session.openKeychain();
      expect((await servers.remove('shop')).servers).toEqual([]);
      expect([await readKeychain(entry), isRemembered(folder())]).toEqual([null, false]);
      expect(await readdir(walletFolderIn(folder()))).toContain('wallet.json');
    });

    it('never mixes with that of the same words elsewhere', async () => {
      for (const other of others) expect(await readKeychain(other)).toBe('of another wallet');
    });
  });
}
