/** The servers that this computer signs for: joined, shown, and forgotten. */
import { hostname } from 'node:os';
import { Rejected } from '../daemon/domain/errors.ts';
import { signAgain } from '../daemon/home/alarm.ts';
import { joinServer, needSameServer, readCode } from '../daemon/home/dial.ts';
import {
  addressOf,
  forgetServer,
  needProxy,
  proxyOf,
  serverFolder,
  serverNames,
  walletFolderIn,
  writeServer,
} from '../daemon/home/place.ts';
import type { AlarmMoney, DesktopParams, PassedBackup, ServerList, ServerState } from '../daemon/operator/desktop.ts';
import type { NewsBatch } from '../daemon/operator/news.ts';
import { slowed } from './methods.ts';
import { Server, type ServerOptions } from './server.ts';

type ServersOptions = Omit<ServerOptions, 'told' | 'alarmed' | 'unwatched' | 'logFile'> & {
  logFileOf(server: string): string;
  told(server: string, batch: NewsBatch): void;
  alarmed(server: string): void;
  unwatched(server: string): void;
  /** The list is another one. */
  changed(): void;
};

export class Servers {
  readonly #options: ServersOptions;
  readonly #servers = new Map<string, Server>();
  /** Begun and ended. */
  #changes = 0;
  #changing = 0;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(options: ServersOptions) {
    this.#options = options;
  }

  /** Connects with all of them. */
  async open(): Promise<void> {
    for (const name of await serverNames(this.#options.dataDir)) await this.#add(name);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#servers.values()].map((server) => server.close()));
  }

  /** Null: this computer is not connected with it. */
  get(name: string): Server | null {
    return this.#servers.get(name) ?? null;
  }

  get names(): string[] {
    return [...this.#servers.keys()].sort();
  }

  /** All that are known. One that a terminal has joined meanwhile is taken in. */
  async list(): Promise<ServerList> {
    const changes = this.#changes;
    const names = await serverNames(this.#options.dataDir);
    // what is joined or removed at this time may have been read before it
    const isOld = this.#changing > 0 || changes !== this.#changes;
    for (const name of isOld ? [] : names) if (!this.#servers.has(name)) await this.#add(name);
    const states = await Promise.allSettled(this.names.map((name) => this.#servers.get(name)!.state()));
    const servers = states.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    return { servers, computer: hostname() };
  }

  /**
   * Connects this computer with a server, under the name of its address or in the place of the server `as`; one that it knows is joined
   * anew, and keeps its wallet. Throws `Rejected`: `signer.code_*`, `signer.machine`, `signer.proxy`, `signer.server`,
   * `signer.other_server`; `Unavailable` if nothing answers.
   */
  async join({
    address,
    code: typed,
    name,
    takesPlace = false,
    as,
    proxy: through = '',
  }: DesktopParams<'desktop.join'>): Promise<ServerState> {
    const { url, name: byAddress } = addressOf(address.trim());
    const proxy = through.trim() === '' ? undefined : proxyOf(through.trim());
    needProxy({ url, proxy });
    if (as !== undefined) this.#needKnown(as);
    const called = as ?? byAddress;
    const folder = serverFolder(this.#options.dataDir, called);
    const code = await readCode(typed);
    if (!takesPlace) await needSameServer(folder, code);
    const joined = await joinServer(url, code, name, proxy);
    return this.#alone(async () => {
      await writeServer(folder, joined);
      return (await this.#add(called, await this.#drop(called))).state();
    });
  }

  /**
   * Ends the connection here. The wallet's folder stays. Throws `Rejected('signer.server')`; `Unavailable` if the keychain has its
   * passphrase, and does not answer.
   */
  async remove(name: string): Promise<ServerList> {
    const server = this.#needKnown(name);
    await this.#alone(async () => {
      await server.forgetPassphrase();
      await forgetServer(serverFolder(this.#options.dataDir, name));
      await this.#drop(name);
    });
    this.#options.changed();
    return this.list();
  }

  /** Null: no foreign address stands. Throws `Rejected('signer.server')`. */
  async alarmMoney(name: string): Promise<AlarmMoney | null> {
    return this.#needKnown(name).alarmMoney();
  }

  /** The operator has looked at foreign addresses. Throws `Rejected`: `signer.server`, `signer.foreign_address`, `vault.*`. */
  async signAgain({ server: name, passphrase, shown }: DesktopParams<'desktop.signAgain'>): Promise<ServerList> {
    this.#needKnown(name);
    const folder = serverFolder(this.#options.dataDir, name);
    await slowed(walletFolderIn(folder), () => signAgain(folder, passphrase, { shown, now: new Date().toISOString() }));
    return this.list();
  }

  /** Throws `Rejected`: `signer.server`, `vault.*`, `backup.*`. */
  async backupPass({ server: name, passphrase, file }: DesktopParams<'desktop.backupPass'>): Promise<PassedBackup> {
    return this.#needKnown(name).backupPass(passphrase, file);
  }

  /** Locks the wallets of all of them. */
  lock(): void {
    for (const server of this.#servers.values()) void server.keyholder.lock().catch(() => {});
  }

  #needKnown(name: string): Server {
    const server = this.#servers.get(name);
    if (!server) throw new Rejected('signer.server', `This computer is not connected with ${name}`);
    return server;
  }

  /** One after the other, so that no process goes on for a server that another change has replaced. */
  async #alone<T>(work: () => Promise<T>): Promise<T> {
    this.#changes += 1;
    this.#changing += 1;
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    try {
      return await done;
    } finally {
      this.#changes += 1;
      this.#changing -= 1;
    }
  }

  async #add(name: string, former: Server | null = null): Promise<Server> {
    const { logFileOf, told, alarmed, unwatched, changed, ...options } = this.#options;
    const of = {
      ...options,
      logFile: logFileOf(name),
      told: (batch: NewsBatch) => told(name, batch),
      alarmed: () => alarmed(name),
      unwatched: () => unwatched(name),
    };
    const server = new Server(name, of, former);
    this.#servers.set(name, server);
    if (!this.#isClosed) await server.open();
    changed();
    return server;
  }

  async #drop(name: string): Promise<Server | null> {
    const server = this.get(name);
    await server?.close();
    this.#servers.delete(name);
    return server;
  }
}
