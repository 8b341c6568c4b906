/**
 * The way from a screen to the service: the operator API's methods and its events. `bridge-http.ts` speaks to the
 * console's listener; the desktop shell has its own.
 */
import type { ErrorBody, Method, Params, Result } from '../daemon/contract/operator.ts';
import type {
  AlarmMoney,
  DesktopParams,
  DesktopSettings,
  PassedBackup,
  ServerList,
  ServerState,
} from '../daemon/operator/desktop.ts';
import type { Custody, Keyholder, Wallet } from '../daemon/operator/keyholder.ts';
import type { EventKind, News } from '../daemon/operator/news.ts';

export type { EventKind, Method, News, Params, Result };

/** An error answer of the service. `code` is for programs, `message` for people. */
export class CallError extends Error {
  readonly status: number;
  readonly code: string;
  readonly field: string | undefined;

  constructor(status: number, { code, message, field }: ErrorBody['error']) {
    super(message);
    this.name = 'CallError';
    this.status = status;
    this.code = code;
    this.field = field;
  }
}

/** The service did not answer. Whether it has carried the call out is unknown. */
export class NotConnected extends Error {
  constructor() {
    super('Countinghouse does not answer');
    this.name = 'NotConnected';
  }
}

/** Another program answers at this address, or the service has lost its sessions. It was told nothing that it can read. */
export class Strange extends NotConnected {}

/** The session has ended, or there never was one. */
export class SignedOut extends Error {
  constructor() {
    super('This session has ended');
    this.name = 'SignedOut';
  }
}

/** `approvals`: whether money may be sent from here. `home`: the machine that has the keys, if it is another one. `scope`: `counter` for a till that is locked to its one screen. */
export type Session = {
  place: 'browser' | 'desktop';
  approvals: boolean;
  home: string | null;
  scope: 'all' | 'counter';
};

export type Bridge = {
  /** Throws `CallError`, `NotConnected`, `SignedOut`. */
  call<M extends Method>(method: M, input: Params<M>, signal?: AbortSignal): Promise<Result<M>>;
  /** Calls `listener` with each piece of news until the returned function is called. */
  subscribe(listener: (news: News) => void): () => void;
  /** Throws `SignedOut`, `NotConnected`. */
  session(): Promise<Session>;
  /** Restricts this session to the counter of a business; it cannot be undone from here. Absent where the place has no such lock. */
  lockToCounter?(business: number): Promise<void>;
  signOut?(): Promise<void>;
  /** Pairs this till by the code that the console shows. Throws if it is wrong or too old. Present on a till of the shop's network alone. */
  pair?(code: string): Promise<void>;
  /** Has a backup made, into the browser's downloads or into the file that the user chooses; null: the user chose none. */
  downloadBackup?(): Promise<{ file: string | null; bytes: number; made_at: string } | null>;
  /**
   * Sends a backup to the service, for a drill; returns its path there, where it is kept until the drill has ended. `progress` is
   * told the percentage that was sent. Absent where files are named by their path.
   */
  uploadBackup?(file: File, progress: (percent: number) => void, signal: AbortSignal): Promise<string>;
  /** Absent where this page has to seal passphrases and words itself. */
  keyholder?: Keyholder;
  custody?: Custody;
  /** Absent in a browser. */
  desktop?: Desktop;
};

/** The desktop program's own part: files that its user chooses, the system's keychain, its settings, its servers. */
export type Desktop = {
  /** The server that this page is about; null: the service of this computer. */
  server: string | null;
  /** The path of a backup; null: the user chose none. */
  chooseBackup(): Promise<string | null>;
  /** Null: this computer does not sign for the server of this page. */
  keychain: Keychain | null;
  servers(): Promise<ServerList>;
  /** Connects this computer with a server. */
  join(asked: DesktopParams<'desktop.join'>): Promise<ServerState>;
  removeServer(server: string): Promise<ServerList>;
  /** The consequences of a server's foreign addresses for the money; null: none stands. */
  alarmMoney(server: string): Promise<AlarmMoney | null>;
  /** The operator has looked at foreign addresses. */
  signAgain(looked: DesktopParams<'desktop.signAgain'>): Promise<ServerList>;
  /** Compares a backup of a server with the words that are here, and makes the pass that restores it. */
  backupPass(asked: DesktopParams<'desktop.backupPass'>): Promise<PassedBackup>;
  settings(): Promise<DesktopSettings>;
  setLanguage(language: string): Promise<DesktopSettings>;
  setStartAtLogin(on: boolean): Promise<DesktopSettings>;
};

export type Keychain = {
  /** Opens the wallet, and has the keychain open it from now on. */
  remember(passphrase: string): Promise<Wallet>;
  forget(): Promise<Wallet>;
};
