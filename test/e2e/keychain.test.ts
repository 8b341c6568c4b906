/** The wallet's passphrase in a real keychain: gnome-keyring on a D-Bus session of the test's own. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Result } from '../../daemon/contract/operator.ts';
import { forgetKeychain, readKeychain, writeKeychain } from '../../daemon/wallet/signer/keychain.ts';
import { systemKeychain } from '../../main/keychain.ts';
import { spawnBound } from '../support/bound-child.ts';
import { startTestDaemon, type TestDaemon, until } from '../support/daemon.ts';
import { Operator } from '../support/operator.ts';
import { PASSPHRASE } from '../support/shop.ts';
import { cheapWallet } from '../support/wallet.ts';
import { cli } from '../unit/cli-kit.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const BUS = '/usr/bin/dbus-daemon';
const KEYRING = '/usr/bin/gnome-keyring-daemon';
/** Debian: dbus, gnome-keyring. With CI=true a missing program fails the tests. */
const hasKeychain =
  process.platform === 'linux' && ((existsSync(BUS) && existsSync(KEYRING)) || process.env.CI === 'true');
const BUS_VARIABLE = 'DBUS_SESSION_BUS_ADDRESS';

type Wallet = Result<'wallet.status'>['wallet'];

/** A session without a screen, so that the keychain can ask nobody. */
class DesktopSession {
  readonly #folder: string;
  #bus: ChildProcess | null = null;
  #keyring: ChildProcess | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get #env(): NodeJS.ProcessEnv {
    const { DISPLAY: _, WAYLAND_DISPLAY: __, ...env } = process.env;
    return {
      ...env,
      HOME: this.#folder,
      XDG_DATA_HOME: join(this.#folder, 'data'),
      XDG_RUNTIME_DIR: join(this.#folder, 'run'),
    };
  }

  /** D-Bus's library reads it once in a process. */
  get address(): string {
    return `unix:path=${join(this.#folder, 'bus')}`;
  }

  async start(): Promise<void> {
    await mkdir(join(this.#folder, 'run'), { mode: 0o700 });
    const config = join(this.#folder, 'bus.conf');
    await writeFile(config, busConfig(this.address));
    this.#bus = spawnBound(BUS, [`--config-file=${config}`, '--nofork', '--print-address'], {
      env: this.#env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    await once(this.#bus.stdout!, 'data');
  }

  /** `locked`: the fingerprint of a wallet that it has the passphrase of. */
  async openKeychain(locked: string | null = null): Promise<void> {
    await this.closeKeychain();
    const args = ['--foreground', '--components=secrets', ...(locked === null ? ['--unlock'] : [])];
    this.#keyring = spawnBound(KEYRING, args, { env: this.#env, stdio: ['pipe', 'ignore', 'ignore'] });
    // without the line's end no collection is made for the passphrase, which is empty
    this.#keyring.stdin!.end('\n');
    await until('the keychain answers', () =>
      readKeychain(locked ?? '').then(
        () => locked === null,
        (error: Error) => error.message.includes('locked'),
      ),
    );
  }

  async closeKeychain(): Promise<void> {
    await ended(this.#keyring);
    this.#keyring = null;
  }

  async stop(): Promise<void> {
    await this.closeKeychain();
    await ended(this.#bus);
  }
}

/** A bus that starts no programs by itself: the keychain here is the one that the test starts, and no window asks for a passphrase. */
const busConfig = (address: string): string => `<busconfig>
  <type>session</type>
  <listen>${address}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>`;

async function ended(child: ChildProcess | null): Promise<void> {
  if (child === null || child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}

if (hasKeychain) {
  describe('the passphrase in the keychain', () => {
    let folder: string;
    let service: TestDaemon;
    let session: DesktopSession;
    let fingerprint: string;
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
      expect(await readKeychain(fingerprint)).toBeNull();
      expect(await remember()).toMatchObject({ code: 0 });
      expect(await readKeychain(fingerprint)).toBe(PASSPHRASE);
      expect(await wallet()).toMatchObject({ state: 'unlocked', unlock: 'keychain', locks_at: null });
      await service.restart();
      await until('the wallet opens by itself', isOpen);
      const change = ['wallet', 'passphrase', '--passphrase-file', join(folder, 'secret')];
      await cli(service.dataDir, [...change, '--new-passphrase-file', await secret('fresh', FRESH)]);
      expect(await readKeychain(fingerprint)).toBe(FRESH);
      await service.restart();
      await until('the wallet opens by itself', isOpen);
    });

    it('is put there and taken out by the desktop program, too', async () => {
      const env = { ...process.env, COUNTINGHOUSE_DATA_DIR: service.dataDir };
      const desktop = systemKeychain([process.execPath, join(ROOT, 'daemon', 'cli.ts')], env, wallet);
      expect(await desktop.forget()).toMatchObject({ state: 'locked', unlock: 'prompt' });
      expect(await readKeychain(fingerprint)).toBeNull();
      expect(await desktop.remember(FRESH)).toMatchObject({ state: 'unlocked', unlock: 'keychain' });
      expect(await readKeychain(fingerprint)).toBe(FRESH);
    });

    it('stays closed when the keychain is locked, which is said, and the operator still opens it', async () => {
      await session.openKeychain(fingerprint);
      await service.restart();
      const { code, err } = await remember(FRESH);
      expect(code).not.toBe(0);
      expect(err).toBe('error: The keychain is locked: unlock it where you are logged in, then try again\n');
      expect(await wallet()).toMatchObject({ state: 'unlocked', unlock: 'keychain' });
    });

    it('is tried once where it is an old one, so that the operator need not wait', async () => {
      await session.openKeychain();
      await writeKeychain(fingerprint, 'an old passphrase');
      await service.restart();
      const operator = new Operator(service.dataDir, FRESH);
      await until('the passphrase was tried', async () => (await wallet()).state === 'locked');
      for (let n = 0; n < 5; n++) expect(await wallet()).toMatchObject({ state: 'locked', retry_after_seconds: 0 });
      await operator.unlock();
      expect(await isOpen()).toBe(true);
    });

    it('is forgotten, with the wallet locked, and not taken by a service that cannot use it', async () => {
      expect(await cli(service.dataDir, ['wallet', 'forget'])).toMatchObject({ code: 0 });
      expect(await readKeychain(fingerprint)).toBeNull();
      expect(await wallet()).toMatchObject({ state: 'locked', unlock: 'prompt' });
      // the service has no way to the keychain that this command has
      const { call } = new Operator(service.dataDir);
      await expect(call('wallet.keychain', { on: true })).rejects.toThrow('holds no passphrase of this wallet');
      expect(await forgetKeychain(fingerprint)).toBe(false);
    });
  });
}
