/**
 * A server that this computer signs for: the operator's connection to it, the process that signs here, and what is known of both.
 *
 * Invariant: the server is asked only what an operator may ask from home. Its wallet is the one in its folder here: state, words and
 * approvals are this computer's own, whatever the server says about them.
 */
import { join } from 'node:path';
import type { Call, Method, Result } from '../daemon/contract/operator.ts';
import { Rejected, Unavailable } from '../daemon/domain/errors.ts';
import { keepMissing, missingOf } from '../daemon/home/accounts.ts';
import { countIn, isOf, isStopped, readAlarm } from '../daemon/home/alarm.ts';
import { auditedIn } from '../daemon/home/auditor.ts';
import { ServerCalls } from '../daemon/home/call.ts';
import { homeCustody } from '../daemon/home/custody.ts';
import { grantHere, homeKeyholder, signingSocket } from '../daemon/home/keyholder.ts';
import { isRemembered, mayBeRemembered, readServer, serverFolder, walletFolderIn } from '../daemon/home/place.ts';
import { sleep } from '../daemon/kit/async.ts';
import type { AlarmMoney, PassedBackup, ServerState } from '../daemon/operator/desktop.ts';
import type { Custody, Keyholder, Wallet } from '../daemon/operator/keyholder.ts';
import { withSignerService } from '../daemon/operator/local-keyholder.ts';
import { followNews, type NewsBatch } from '../daemon/operator/news.ts';
import { isAway, type SignerStatus } from '../daemon/wallet/signer/port.ts';
import { areWordsUnproved, hasWallet, walletFingerprint, wordsOf } from '../daemon/wallet/wallet.ts';
import { Drills } from './drills.ts';
import { type Keychain, KeychainCommands, keychainOf } from './keychain.ts';
import { ALARM_LOOK_MS, ANSWER_MS, SIGNER_BEGINS_MS, SIGNER_LOOK_MS, WATCH_LOOK_MS } from './limits.ts';
import { slowed, slowedKeyholder } from './methods.ts';
import { Money } from './money.ts';
import { Service } from './service.ts';
import { Watch } from './watch.ts';

const COUNTED_MAX = 100;

export type ServerOptions = {
  /** Of this computer. */
  dataDir: string;
  release: string;
  /** The command line: the program and its first arguments. */
  command: readonly [program: string, ...args: string[]];
  env: NodeJS.ProcessEnv;
  /** Of the process that signs. */
  logFile: string;
  /** Told of everything that happened on the server. */
  told(batch: NewsBatch): void;
  /** A foreign address was seen. */
  alarmed(): void;
  /** The addresses are not compared any more, for another reason than before. */
  unwatched(): void;
};

export class Server {
  readonly name: string;
  readonly #folder: string;
  readonly #options: ServerOptions;
  readonly #calls: ServerCalls;
  readonly #end = new AbortController();
  readonly #drills: Drills;
  readonly #keychain: KeychainCommands;
  readonly keyholder: Keyholder;
  readonly custody: Custody;
  readonly keychain: Keychain;
  #line: Pick<ServerState, 'line' | 'since' | 'why'> = { line: 'connecting', since: now(), why: null };
  #signing: Service | null = null;
  /** By the process that signs, when it answered last; null: none did. */
  #said: SignerStatus | null = null;
  #looking: NodeJS.Timeout | undefined;
  #waiting = 0;
  /** For a restore from the words, by the server when it answered last. */
  #gap = 0;
  #foreign = 0;
  readonly #watch = new Watch();
  readonly #money: Money;
  #watchedAt = Number.NEGATIVE_INFINITY;

  /** `former`: whose place it takes. Throws `Rejected('signer.server')` for a text that is no name. */
  constructor(name: string, options: ServerOptions, former: Server | null = null) {
    this.name = name;
    this.#options = options;
    this.#folder = serverFolder(options.dataDir, name);
    this.#calls = new ServerCalls(this.#folder, options.release);
    const command = [...options.command, '--server', name] as const;
    this.#drills = new Drills(command, options.env);
    const wallet = walletFolderIn(this.#folder);
    this.#money = new Money(wallet, this.#ask, former === null ? null : former.#money);
    // the server has no say in what was done here
    const status = async (): Promise<Result<'wallet.status'>> => ({ wallet: await this.#walletHere() });
    const keyholder = slowedKeyholder(homeKeyholder(name, this.#folder, status as Call), wallet);
    this.keyholder = {
      ...keyholder,
      unlock: (passphrase) => this.#unlock(() => keyholder.unlock(passphrase), passphrase),
      changePassphrase: (old, fresh) =>
        keyholder.changePassphrase(old, fresh).catch((error) => this.#renewKeychain(error, fresh)),
      authorize: async (passphrase, wanted) => {
        const macs = await keyholder.authorize(passphrase, wanted);
        await grantHere(this.#folder, wanted.grants, macs.grants);
        return macs;
      },
    };
    this.#keychain = new KeychainCommands(command, options.env);
    const keychain = keychainOf(this.#keychain, () => this.#walletHere());
    this.keychain = {
      ...keychain,
      remember: (passphrase) => this.#unlock(() => keychain.remember(passphrase), passphrase),
    };
    this.custody = homeCustody({
      folder: this.#folder,
      call: this.call,
      slowed: (make) => slowed(wallet, make),
      drill: async (passphrase, file) => {
        // the command that opens the backup would say it too late for the page that asks
        await this.#needPassphrase(passphrase);
        await this.#drills.begin(passphrase, file);
      },
      made: () => this.#walletMade(),
    });
  }

  /** Connects, and signs if there is a wallet. Connects again and again. */
  async open(): Promise<void> {
    void followNews({
      ask: (input) => this.#nextEvents(input),
      tell: (batch) => this.#told(batch),
      signal: this.#end.signal,
    });
    this.#look();
    if (await hasWallet(walletFolderIn(this.#folder))) await this.#sign();
  }

  async close(): Promise<void> {
    this.#end.abort();
    clearTimeout(this.#looking);
    this.#calls.renew();
    await this.#signing?.close();
  }

  /** The operator API of the server, but for what is this computer's own. A connection that breaks is no answer: see `Bridge`. */
  readonly call: Call = (async (method: Method, params: never) => {
    if (method === 'wallet.lock') return { wallet: await this.keyholder.lock() };
    const result = await this.#ask(method, params);
    if (method === 'wallet.status') {
      this.#gap = (result as Result<'wallet.status'>).wallet.gap;
      return { wallet: await this.#walletHere() };
    }
    if (method === 'backup.drillStatus') return { ...(result as object), drill: this.#drills.last };
    return result;
  }) as Call;

  readonly #ask: Call = async (method, params) => {
    try {
      return await this.#calls.call(method, params);
    } catch (error) {
      throw error instanceof Unavailable ? new Error(error.message) : error;
    }
  };

  async state(): Promise<ServerState> {
    const folder = this.#folder;
    const [server, wallet] = await Promise.all([this.#place(), this.#signerShown()]);
    const { url, proxy = null, name, joined, service } = server;
    const { checked = 0, pages = 0, at = null, wholeAt = null } = (await auditedIn(folder, service)) ?? {};
    // after the memory of the looks: what a look has found is in it by then
    const alarm = await readAlarm(folder);
    return {
      name: this.name,
      url,
      proxy,
      computer: name,
      joined: joined ?? null,
      ...this.#line,
      wallet: wallet === null ? ((await hasWallet(walletFolderIn(folder))) ? 'locked' : 'none') : wallet.state,
      signs: wallet !== null && alarm === null,
      waiting: this.#waiting,
      audited: at === null ? null : { addresses: checked, pages, at, wholeAt },
      unwatched: this.#watch.unwatched,
      folder,
      alarm,
      alarmed: alarm !== null && isOf(alarm, server),
    };
  }

  /** As this computer joined it. An alarm is shown though the file beside it is damaged. */
  readonly #place = () =>
    readServer(this.#folder).catch(() => ({ url: '', proxy: undefined, name: '', service: '', joined: undefined }));

  /** The consequences of its foreign addresses for the money; null: none stands. */
  async alarmMoney(): Promise<AlarmMoney | null> {
    const [server, alarm] = [await this.#place(), await readAlarm(this.#folder)];
    if (alarm === null) return null;
    // one that has taken the place of the server that showed them does not know of them
    const asked = isOf(alarm, server) ? this.#money.ask(alarm) : null;
    if (asked && this.#money.told(alarm) === null) await Promise.race([asked, sleep(ANSWER_MS, this.#end.signal)]);
    return this.#money.known(alarm);
  }

  /** Makes the pass of a backup of the server. Throws `Rejected` `vault.*`, `backup.pass`. */
  async backupPass(passphrase: string, file: string): Promise<PassedBackup> {
    await this.#needPassphrase(passphrase);
    return this.#drills.pass(passphrase, file);
  }

  async #needPassphrase(passphrase: string): Promise<void> {
    const wallet = walletFolderIn(this.#folder);
    await slowed(wallet, () => wordsOf(wallet, passphrase));
  }

  async #nextEvents(input: Parameters<typeof this.call<'events.next'>>[1]): Promise<Result<'events.next'>> {
    try {
      const page = await this.#ask('events.next', input);
      if (this.#line.line !== 'connected') this.#line = { line: 'connected', since: now(), why: null };
      if (input.cursor === undefined || page.events.length > 0) await this.#count();
      return page;
    } catch (error) {
      const line = error instanceof Rejected ? 'refused' : 'away';
      const { message: why } = error as Error;
      if (this.#line.line !== line) this.#line = { line, since: now(), why };
      throw error;
    }
  }

  async #count(): Promise<void> {
    const { withdrawals } = await this.#ask('withdrawal.list', { state: 'requested', limit: COUNTED_MAX });
    this.#waiting = withdrawals.length;
  }

  #told(batch: NewsBatch): void {
    if (!this.#end.signal.aborted) this.#options.told(batch);
  }

  /**
   * Asks the process that signs; null: none does. `silent`: it signs for long, and is asked no more, since its operator has few connections, who
   * may want to lock it.
   */
  async #signer(): Promise<SignerStatus | 'silent' | null> {
    const place = { dataDir: this.#folder, folder: walletFolderIn(this.#folder) };
    const silent = sleep(ANSWER_MS, this.#end.signal).then(() => 'silent' as const);
    const asked = withSignerService(place, signingSocket(this.#folder), (signer) =>
      Promise.race([signer.status(), silent]),
    );
    const answer = await Promise.race([asked, silent]).catch(() => null);
    if (answer === 'silent') return answer;
    this.#said = answer && isAway(answer) ? null : answer;
    return this.#said;
  }

  /** Of a process that is silent, what it said last: a wallet that is open can be locked while it signs. */
  async #signerShown(): Promise<SignerStatus | null> {
    const signer = await this.#signer();
    return signer === 'silent' ? this.#said : signer;
  }

  async #walletHere(): Promise<Wallet> {
    const folder = walletFolderIn(this.#folder);
    const isThere = await hasWallet(folder);
    const signer = isThere ? await this.#signerShown() : null;
    return {
      state: isThere ? (signer?.state ?? 'locked') : 'none',
      fingerprint: isThere ? await walletFingerprint(folder) : null,
      unlock: isRemembered(this.#folder) ? 'keychain' : 'prompt',
      separate: false,
      gap: this.#gap,
      locks_at: signer?.lockAt ? new Date(signer.lockAt).toISOString() : null,
      retry_after_seconds: signer?.retryAfterSeconds ?? 0,
      words_unproved: isThere && (await areWordsUnproved(folder)),
    };
  }

  /** With the passphrase at hand, the public keys are derived with which the server's addresses are compared. */
  async #unlock(open: () => Promise<Wallet>, passphrase: string): Promise<Wallet> {
    await this.#begun();
    const wallet = await open();
    // a server that does not answer has no say in it: they are derived the next time, and it is told that nothing is compared
    const kept = this.#keepKeys(passphrase).catch(() => {});
    await Promise.race([kept, sleep(ANSWER_MS, this.#end.signal).catch(() => {})]);
    return wallet;
  }

  async #keepKeys(passphrase: string): Promise<void> {
    const { businesses } = await this.#ask('business.list', {});
    await keepMissing(this.#folder, passphrase, await missingOf(this.#folder, businesses));
  }

  /** The passphrase may be another one although the server did not answer after the change: the keychain must not keep the old one. */
  async #renewKeychain(error: unknown, fresh: string): Promise<never> {
    const isOld = error instanceof Unavailable && isRemembered(this.#folder);
    if (isOld) await this.#keychain.remember(fresh).catch(() => {});
    throw error;
  }

  /** Takes its passphrase out of the keychain. Throws `Unavailable` if the keychain does not answer. */
  async forgetPassphrase(): Promise<void> {
    if (mayBeRemembered(this.#folder)) await this.#keychain.forget();
  }

  /** Waits for the process that signs, which may have been started a moment ago. */
  async #begun(): Promise<void> {
    const until = performance.now() + SIGNER_BEGINS_MS;
    while (this.#signing && performance.now() < until && (await this.#signer()) === null) {
      await sleep(SIGNER_LOOK_MS, this.#end.signal);
    }
  }

  async #walletMade(): Promise<void> {
    // the next connection tells the server of the wallet
    this.#calls.renew();
    await this.#sign();
  }

  /** Starts the process that signs, unless one runs already: on a terminal, or as a service. */
  async #sign(): Promise<void> {
    // a process of the command line serves its operator on a unix socket
    if (this.#signing || this.#end.signal.aborted || process.platform === 'win32') return;
    const { command, env, logFile } = this.#options;
    const [program, ...args] = command;
    this.#signing = new Service({
      command: [program, ...args, '--server', this.name, 'signer', 'run', '--no-notification'],
      env,
      logFile,
      answers: async () => {
        if ((await this.#signer()) === null) throw new Error('nobody signs');
      },
      changed: () => {},
    });
    await this.#signing.open();
  }

  /** Looks whether the addresses are still compared, and tells it once if they are not. */
  async #lookWhoWatches(): Promise<void> {
    const ticks = performance.now();
    if (ticks - this.#watchedAt < WATCH_LOOK_MS) return;
    this.#watchedAt = ticks;
    const { service } = await this.#place();
    const [audited, signer, isThere] = await Promise.all([
      auditedIn(this.#folder, service),
      this.#signer(),
      hasWallet(walletFolderIn(this.#folder)),
    ]);
    const before = this.#watch.unwatched?.why;
    const { at = null, heldSince = null } = audited ?? {};
    const isConnected = this.#line.line === 'connected';
    const signs = signer !== null && signer !== 'silent';
    this.#watch.see({ ticks, now: Date.now(), isConnected, hasWallet: isThere, signs, at, heldSince });
    const after = this.#watch.unwatched?.why;
    if (after !== undefined && after !== before) this.#options.unwatched();
  }

  /** Looks now and then whether a foreign address was seen. */
  #look(): void {
    if (this.#end.signal.aborted) return;
    const look = async (): Promise<void> => {
      const alarm = (await isStopped(this.#folder)) ? await readAlarm(this.#folder) : null;
      const seen = alarm === null ? 0 : countIn(alarm) + 1;
      if (seen > this.#foreign) {
        this.#options.alarmed();
        // the operator is told to switch the server off
        void this.alarmMoney().catch(() => {});
      }
      this.#foreign = seen;
      await this.#lookWhoWatches();
    };
    void look()
      .catch(() => {})
      .finally(() => {
        if (!this.#end.signal.aborted) this.#looking = setTimeout(() => this.#look(), ALARM_LOOK_MS);
      });
  }
}

const now = (): string => new Date().toISOString();

/** The log of the process that signs for a server. */
export const logFileOf = (folder: string, server: string): string => join(folder, `signer-${server}.log`);
