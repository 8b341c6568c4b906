/** A keychain for tests: gnome-keyring on a D-Bus session of the test's own. */
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readKeychain, type WalletEntry } from '../../daemon/wallet/signer/keychain.ts';
import { spawnBound } from '../support/bound-child.ts';
import { until } from '../support/daemon.ts';

const BUS = '/usr/bin/dbus-daemon';
const KEYRING = '/usr/bin/gnome-keyring-daemon';
/** Debian: dbus, gnome-keyring. With CI=true a missing program fails the tests. */
export const hasKeychain =
  process.platform === 'linux' && ((existsSync(BUS) && existsSync(KEYRING)) || process.env.CI === 'true');
export const BUS_VARIABLE = 'DBUS_SESSION_BUS_ADDRESS';

/** A session without a screen, so that the keychain can ask nobody. */
export class DesktopSession {
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

  /** `locked`: of which it has the passphrase. */
  async openKeychain(locked: WalletEntry | null = null): Promise<void> {
    await this.closeKeychain();
    const args = ['--foreground', '--components=secrets', ...(locked === null ? ['--unlock'] : [])];
    this.#keyring = spawnBound(KEYRING, args, { env: this.#env, stdio: ['pipe', 'ignore', 'ignore'] });
    // without the line's end no collection is made for the passphrase, which is empty
    this.#keyring.stdin!.end('\n');
    await until('the keychain answers', () =>
      readKeychain(locked ?? { fingerprint: '', server: null }).then(
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
