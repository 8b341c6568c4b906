/** The wallet's passphrase in a real keychain: gnome-keyring on a D-Bus session of the test's own. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Result } from '../../daemon/contract/operator.ts';
import { forgetKeychain, readKeychain, writeKeychain } from '../../daemon/wallet/signer/keychain.ts';
import { KeychainCommands, keychainOf } from '../../main/keychain.ts';
import { bundled } from '../support/bundles.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cheapWallet } from '../support/wallet.ts';
import { cli } from '../unit/cli-kit.ts';
import { BUS_VARIABLE, DesktopSession, hasKeychain } from './keychain-kit.ts';

type Wallet = Result<'wallet.status'>['wallet'];

if (hasKeychain) {
  describe('the passphrase in the keychain', () => {
    let folder: string;
    let service: TestDaemon;
    let session: DesktopSession;
    let fingerprint: string;
    const entry = () => ({ fingerprint, server: null });
    const FRESH = 'another passphrase of the test';

    const wallet = async (): Promise<Wallet> => (await new Operator(service.dataDir).call('wallet.status', {})).wallet;
    const isOpen = async (): Promise<boolean> => (await wallet()).state === 'unlocked';
    const secret = async (name: string, text: string): Promise<string> => {
      await writeFile(join(folder, name), `${text}\n`);
      return join(folder, name);
    };
    const remember = async (text = PASSPHRASE) =>
      cli(service.dataDir, ['wallet', 'unlock', '--remember', '--passphrase-file', await secret('secret', text)]);

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'keychain-'));
      session = new DesktopSession(folder);
      process.env[BUS_VARIABLE] = session.address;
      service = await startTestDaemon();
      await cheapWallet(join(service.dataDir, 'vault'), { passphrase: PASSPHRASE });
      fingerprint = (await wallet()).fingerprint ?? '';
    });
    afterAll(async () => {
      await service?.stop();
      await session?.stop();
      await rm(folder, { recursive: true, force: true });
    });

    it('is refused where nobody is logged in on a desktop, and never put into the kernel’s keyring', async () => {
      const { code, err } = await remember();
      expect(code).not.toBe(0);
      expect(err).toBe(
        'error: There is no keychain here: it belongs to a desktop on which you are logged in (Secret Service over D-Bus)\n',
      );
      expect(await wallet()).toMatchObject({ unlock: 'prompt' });
    });

    it('opens the wallet after each start, with the passphrase as it is now', async () => {
      await session.start();
      await session.openKeychain();
      expect(await remember('not the passphrase')).toMatchObject({ code: 1 });
      expect(await readKeychain(entry())).toBeNull();
      expect(await remember()).toMatchObject({ code: 0 });
      expect(await readKeychain(entry())).toBe(PASSPHRASE);
      expect(await wallet()).toMatchObject({ state: 'unlocked', unlock: 'keychain', locks_at: null });
      await service.restart();
      await until('the wallet opens by itself', isOpen);
      const change = ['wallet', 'passphrase', '--passphrase-file', join(folder, 'secret')];
      await cli(service.dataDir, [...change, '--new-passphrase-file', await secret('fresh', FRESH)]);
      expect(await readKeychain(entry())).toBe(FRESH);
      await service.restart();
      await until('the wallet opens by itself', isOpen);
    });

    it('is put there and taken out by the desktop program, too', async () => {
      const env = { ...process.env, COUNTINGHOUSE_DATA_DIR: service.dataDir };
      const commands = new KeychainCommands([process.execPath, await bundled('daemon/cli.ts')], env);
      const desktop = keychainOf(commands, wallet);
      expect(await desktop.forget()).toMatchObject({ state: 'locked', unlock: 'prompt' });
      expect(await readKeychain(entry())).toBeNull();
      expect(await desktop.remember(FRESH)).toMatchObject({ state: 'unlocked', unlock: 'keychain' });
      expect(await readKeychain(entry())).toBe(FRESH);
    });

    it('stays closed when the keychain is locked, which is said, and the operator still opens it', async () => {
      await session.openKeychain(entry());
      await service.restart();
      const { code, err } = await remember(FRESH);
      expect(code).not.toBe(0);
      expect(err).toBe('error: The keychain is locked: unlock it where you are logged in, then try again\n');
      expect(await wallet()).toMatchObject({ state: 'unlocked', unlock: 'keychain' });
    });

    it('is tried once where it is an old one, so that the operator need not wait', async () => {
      await session.openKeychain();
      await writeKeychain(entry(), 'an old passphrase');
      await service.restart();
      const operator = new Operator(service.dataDir, FRESH);
      await until('the passphrase was tried', async () => (await wallet()).state === 'locked');
      for (let n = 0; n < 5; n++) expect(await wallet()).toMatchObject({ state: 'locked', retry_after_seconds: 0 });
      await operator.unlock();
      expect(await isOpen()).toBe(true);
    });

    it('is forgotten, with the wallet locked, and not taken by a service that cannot use it', async () => {
      expect(await cli(service.dataDir, ['wallet', 'forget'])).toMatchObject({ code: 0 });
      expect(await readKeychain(entry())).toBeNull();
      expect(await wallet()).toMatchObject({ state: 'locked', unlock: 'prompt' });
      // the service has no way to the keychain that this command has
      const { call } = new Operator(service.dataDir);
      await expect(call('wallet.keychain', { on: true })).rejects.toThrow('holds no passphrase of this wallet');
      expect(await forgetKeychain(entry())).toBe(false);
    });
  });
}
