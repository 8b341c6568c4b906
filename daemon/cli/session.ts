/** The context of a command: the data directory, the output, and the daemon. */
import { join, resolve } from 'node:path';
import { defaultDataDir } from '../config/paths.ts';
import type { Call } from '../contract/operator.ts';
import { inEnglish } from '../domain/messages.ts';
import { serverFolder } from '../home/place.ts';
import type { Keyholder } from '../operator/keyholder.ts';
import type { WalletLocation } from '../operator/local-keyholder.ts';
import { OPERATOR_SOCKET } from '../wallet/signer/files.ts';
import { Failure, type Io, jsonLine, ownerOf, usage } from './io.ts';

const VAULT_FOLDER = 'vault';

export type GlobalOptions = { dataDir?: string; server?: string; json?: boolean; yes?: boolean };

export class Session {
  readonly io: Io;
  /** Of the service; with `--server` the folder of that server, which has the wallet for it. */
  readonly dataDir: string;
  /** The server that this computer signs for; null: the service is on this computer. */
  readonly server: string | null;
  readonly json: boolean;
  readonly yes: boolean;

  constructor(io: Io, options: GlobalOptions) {
    this.io = io;
    // `resolve` takes an empty text, as of an unset variable, for the folder that the command runs in
    if (options.dataDir === '') throw usage('--data-dir is empty: name a folder');
    const own = resolve(options.dataDir ?? dataDirOf(io));
    this.server = options.server ?? null;
    this.dataDir = this.server === null ? own : serverFolder(own, this.server);
    this.json = options.json ?? false;
    this.yes = options.yes ?? false;
  }

  /** The wallet's folder: in the data directory, or of a separate signer service. */
  get walletFolder(): string {
    const elsewhere = this.server === null ? this.io.env.COUNTINGHOUSE_SIGNER_DIR : undefined;
    return elsewhere || join(this.dataDir, VAULT_FOLDER);
  }

  /** A separate signer service's socket, by the operator's configuration; null if the daemon runs the signer. */
  get signerSocket(): string | null {
    if (this.server !== null) return join(this.walletFolder, OPERATOR_SOCKET);
    return this.io.env.COUNTINGHOUSE_SIGNER_SOCKET || null;
  }

  /** Calls a method of the daemon. The client is loaded on demand, so that other commands start faster. */
  readonly call: Call = async (method, params) => {
    if (this.server !== null) {
      const [{ serverClient }, { version }] = await Promise.all([import('../home/call.ts'), import('./version.ts')]);
      return serverClient(this.dataDir, version())(method, params);
    }
    const { operatorClient } = await import('../contract/client.ts');
    return operatorClient(this.dataDir)(method, params);
  };

  get walletPlace(): WalletLocation {
    return { dataDir: this.dataDir, folder: this.walletFolder, socket: this.signerSocket };
  }

  /**
   * Carries out what needs the wallet's passphrase. A separate signer has limits before their MACs are given to anybody. Loaded on demand:
   * other commands need no cryptography.
   */
  async keyholder(): Promise<Keyholder> {
    const keyholder = await this.#keyholder();
    return {
      ...keyholder,
      authorize: async (passphrase, wanted) => {
        const macs = await keyholder.authorize(passphrase, wanted);
        const { grantFirst } = await import('./grant-first.ts');
        await grantFirst(this, wanted.grants, macs.grants);
        return macs;
      },
    };
  }

  async #keyholder(): Promise<Keyholder> {
    if (this.server !== null) {
      const { homeKeyholder } = await import('../home/keyholder.ts');
      return homeKeyholder(this.server, this.dataDir, this.call);
    }
    const [{ localKeyholder }, { missingHere }] = await Promise.all([
      import('../operator/local-keyholder.ts'),
      import('./wallet-elsewhere.ts'),
    ]);
    const local = localKeyholder(this.walletPlace, this.call);
    return {
      ...local,
      authorize: (passphrase, wanted) =>
        local.authorize(passphrase, wanted).catch((error: unknown) => missingHere(this, error)),
    };
  }

  /**
   * Works in the wallet's folder, as its user if root runs the command: the service or its separate signer could not
   * read root's files, and a link that its user put there leads root no further than that user may go.
   */
  asOwner<T>(work: () => Promise<T>): Promise<T> {
    return this.#as(this.signerSocket === null ? this.dataDir : this.walletFolder, work);
  }

  /** Works as the data directory's user if root runs the command, who may read and write what the service may not. */
  asDataUser<T>(work: () => Promise<T>): Promise<T> {
    return this.#as(this.dataDir, work);
  }

  /** Works as the user of a folder, unless it is root's or not there. A command that has a user already keeps it. */
  async #as<T>(folder: string, work: () => Promise<T>): Promise<T> {
    const owner = process.geteuid?.() === 0 ? ownerOf(folder) : null;
    if (owner === null || owner.uid === 0) return work();
    const groups = process.getgroups?.() ?? [];
    process.setgroups?.([owner.gid]);
    process.setegid?.(owner.gid);
    process.seteuid?.(owner.uid);
    try {
      return await work();
    } finally {
      process.seteuid?.(0);
      process.setegid?.(process.getgid?.() ?? 0);
      process.setgroups?.(groups);
    }
  }

  /** Prints a result: as one line of JSON, in which messages are English, or as text. */
  print(result: unknown, text: () => string): void {
    this.io.stdout.write(this.json ? jsonLine(inEnglish(result)) : text());
  }

  /** A command that is named in a message, with the server that this one was about. */
  commandText(command: string): string {
    return `countinghouse ${this.server === null ? '' : `--server ${this.server} `}${command}`;
  }

  note(text: string): void {
    this.io.stderr.write(`${text}\n`);
  }
}

function dataDirOf({ env, platform }: Io): string {
  try {
    return defaultDataDir(env, platform);
  } catch (error) {
    throw new Failure(`${(error as Error).message}, or with --data-dir`);
  }
}
