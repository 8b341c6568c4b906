/** A computer at home in a folder of its own, which signs for a test's server. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Call, Result } from '../../daemon/contract/operator.ts';
import { signAtHome } from '../../daemon/home/signing.ts';
import { until } from '../support/daemon.ts';
import { cli } from '../unit/cli-kit.ts';

/** What the server is called there. */
const SERVER = 'shop';

export class HomeComputer {
  readonly folder: string;
  /** The options of a command that asks for the passphrase. */
  readonly passphrase: readonly string[];
  #signing: Awaited<ReturnType<typeof signAtHome>> | null = null;

  private constructor(folder: string, passphraseFile: string) {
    this.folder = folder;
    this.passphrase = ['--passphrase-file', passphraseFile];
  }

  /** `passphrase`: of the wallet that it has, or makes. */
  static async make(passphrase = 'correct horse battery staple'): Promise<HomeComputer> {
    const folder = await mkdtemp(join(tmpdir(), 'countinghouse-home-'));
    const file = join(folder, 'passphrase');
    await writeFile(file, passphrase);
    return new HomeComputer(folder, file);
  }

  /** Runs a command for the server. */
  run(...argv: string[]) {
    return cli(this.folder, ['--server', SERVER, '--yes', ...argv]);
  }

  /** The same; it must succeed. */
  async ran(...argv: string[]): Promise<string> {
    const { code, out, err } = await this.run(...argv);
    expect(err.includes('error:') ? err : code).toBe(0);
    return out;
  }

  /** The same, with the passphrase. */
  done(...argv: string[]): Promise<string> {
    return this.ran(...argv, ...this.passphrase);
  }

  /** `call`: the operator's on the server itself. */
  async join(call: Call): Promise<void> {
    const { server, code } = await call('signer.invite', {});
    const joined = await cli(this.folder, [
      '--yes',
      'signer',
      'join',
      server,
      code,
      '--as',
      SERVER,
      '--name',
      'Laptop',
    ]);
    expect(joined.code).toBe(0);
  }

  /** Makes words here, and a business of the server with them. */
  async addBusiness(): Promise<Result<'business.add'>> {
    const made = ['business', 'add', '--name', 'Shop', '--network', 'regtest', '--i-have-the-words'];
    return JSON.parse(await this.done('--json', ...made));
  }

  /** Of what is kept for the server. */
  get serverFolder(): string {
    return join(this.folder, 'servers', SERVER);
  }

  /** Signs for the server, and opens the wallet by itself. */
  async connect(): Promise<void> {
    const [, path = ''] = this.passphrase;
    this.#signing = await signAtHome({
      folder: this.serverFolder,
      release: 'test',
      autoLockMinutes: 0,
      log: () => {},
      told: () => {},
      audit: { env: {}, told: () => {} },
      source: () => ({ kind: 'file', path }),
    });
  }

  async leave(): Promise<void> {
    await this.#signing?.close();
    this.#signing = null;
  }

  async remove(): Promise<void> {
    await this.leave();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** Waits until a server has its wallet at home open. */
export const isOpen = (call: Call) =>
  until('the wallet at home is connected and open', async () => {
    return (await call('wallet.status', {})).wallet.state === 'unlocked';
  });
