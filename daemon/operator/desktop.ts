/**
 * The methods of the desktop program's main process, which the console's page calls like those of the operator API: all that
 * needs the wallet's passphrase, files that the user chooses, the program's own settings, and the servers that this computer signs for.
 * A page is about this computer or about one of them, which its address names (renderer/place.ts).
 */
import { z } from 'zod';
import type { Result } from '../contract/operator.ts';
import { type Alarm, MachineName } from '../contract/signing-machine.ts';
import { NETWORKS, type Network } from '../domain/assets.ts';
import type { Macs } from '../wallet/signer/port.ts';
import { AuthorizationShape } from '../wallet/signer/wire.ts';
import type { Custody, Wallet } from './keyholder.ts';

const SECRET_CHARS_MAX = 1_000;
const PATH_CHARS_MAX = 4_096;
const TAG_CHARS_MAX = 20;
const NAME_CHARS_MAX = 100;
/** Longer than any code with its dashes, so that a wrong one is told as such. */
const TYPED_CHARS_MAX = 300;

const Nothing = z.strictObject({});
const passphrase = z.string().min(1).max(SECRET_CHARS_MAX);
const server = z.string().max(NAME_CHARS_MAX);
const typed = z.string().max(TYPED_CHARS_MAX);
const ofAccount = { network: z.enum(NETWORKS), accountNo: z.int().min(0) };

export const DESKTOP = {
  'desktop.authorize': z.strictObject({ passphrase, wanted: AuthorizationShape }),
  'desktop.unlock': z.strictObject({ passphrase }),
  'desktop.lock': Nothing,
  'desktop.changePassphrase': z.strictObject({ old: passphrase, fresh: passphrase }),
  'desktop.createWallet': z.strictObject({ passphrase, words: z.string().max(SECRET_CHARS_MAX).nullable() }),
  'desktop.words': z.strictObject({ passphrase }),
  'desktop.moneroWords': z.strictObject({ passphrase, ...ofAccount }),
  'desktop.importMonero': z.strictObject({ passphrase, ...ofAccount, words: z.string().max(SECRET_CHARS_MAX) }),
  'desktop.dropMonero': z.strictObject({ passphrase, ...ofAccount }),
  'desktop.prove': z.strictObject({ passphrase }),
  'desktop.accounts': z.strictObject({ passphrase, ...ofAccount }),
  /** `file`: made by `saveBackup`, or chosen in `chooseBackup`. */
  'desktop.drill': z.strictObject({ passphrase, file: z.string().max(PATH_CHARS_MAX) }),
  /** The user is asked for a place. */
  'desktop.saveBackup': Nothing,
  'desktop.chooseBackup': Nothing,
  /** Opens the wallet, and has the keychain open it from now on. */
  'desktop.remember': z.strictObject({ passphrase }),
  'desktop.forget': Nothing,
  'desktop.settings': Nothing,
  'desktop.setLanguage': z.strictObject({ language: z.string().max(TAG_CHARS_MAX) }),
  'desktop.setStartAtLogin': z.strictObject({ on: z.boolean() }),
  'desktop.servers': Nothing,
  /**
   * Connects this computer with a server, by the code that `signer invite` printed there. `name`: of this computer in its list. `takesPlace`: the
   * operator has said that it takes the place of another server, and gets its words. `as`: of the server that is known under this name here,
   * at whatever address the new one is. `proxy`: the SOCKS5 proxy to it; left out or empty: it is reached straight.
   */
  'desktop.join': z.strictObject({
    address: typed,
    code: typed,
    name: MachineName,
    takesPlace: z.boolean().optional(),
    as: server.optional(),
    proxy: typed.optional(),
  }),
  /** Forgets how a server is reached. The wallet for it stays in its folder. */
  'desktop.removeServer': z.strictObject({ server }),
  /** The consequences of a server's foreign addresses for the money. */
  'desktop.alarmMoney': z.strictObject({ server }),
  /** The operator has looked at foreign addresses. `shown`: how many the page told of. */
  'desktop.signAgain': z.strictObject({ server, passphrase, shown: z.int().min(0) }),
  /** Compares a backup of a server with the words that are here, and makes the pass that restores it. `file`: chosen in `chooseBackup`. */
  'desktop.backupPass': z.strictObject({ server, passphrase, file: z.string().max(PATH_CHARS_MAX) }),
} as const;

export type DesktopMethod = keyof typeof DESKTOP;
export type DesktopParams<M extends DesktopMethod> = z.output<(typeof DESKTOP)[M]>;

/** `startAtLogin`: null where the program cannot be started so. */
export type DesktopSettings = { language: string; startAtLogin: boolean | null };

/** A server that this computer signs for, as it is known here. Times: ISO 8601. */
export type ServerState = {
  /** Its name here. */
  name: string;
  url: string;
  /** The SOCKS5 proxy to it; null: it is reached straight. */
  proxy: string | null;
  /** This computer's name in its list. */
  computer: string;
  /** When it was joined; null: by an earlier release. */
  joined: string | null;
  /** `refused`: another server answers, or it has removed this computer. */
  line: 'connecting' | 'connected' | 'away' | 'refused';
  since: string;
  /** Why it is away or refused, in words; null: it is not. */
  why: string | null;
  wallet: 'none' | 'locked' | 'unlocked';
  /** Whether a process on this computer signs for it. */
  signs: boolean;
  /** The withdrawals that wait for an approval, as far as it was heard. */
  waiting: number;
  /**
   * The addresses that were compared so far, and when; null: none yet. `wholeAt`: when the last look began that reached
   * the ends of its list and of its unpaid invoices; null: more is to be compared.
   */
  audited: { addresses: number; pages: number; at: string; wholeAt: string | null } | null;
  /**
   * Why the addresses are not compared; null: they are. `held`: the server keeps addresses back. `ended`: no process looks. `late`: none has
   * succeeded for long. `since`: of addresses that are kept back; else when it was looked last, null: never.
   */
  unwatched: { why: 'held' | 'ended' | 'late'; since: string | null } | null;
  /** Its folder, which has the wallet. */
  folder: string;
  alarm: Alarm | null;
  /** Whether the alarm is about this server, and not only about one whose place it has taken. */
  alarmed: boolean;
};

/** How many transactions were signed here. `unasked`: of them those that needed no new approval of the operator. */
type Signed = { all: number; unasked: number };

/**
 * The consequences of foreign addresses for the money. `signed`: by this computer's own record, since the first one was found, and in the day
 * before; null: not known. `told`: the word of the server that showed them; null: it gave none since the program's start.
 */
export type AlarmMoney = { signed: { before: Signed; since: Signed } | null; told: MoneyTold | null };

/** The word of a server, which somebody may control. Amounts: whole coins or currency units. */
export type MoneyTold = {
  /** When it said so, ISO 8601. */
  at: string;
  /** Its unpaid invoices. */
  unpaid: number;
  /** How many of the invoices that showed a foreign address these sums are of. */
  covers: number;
  /** Asked for in them, by currency, and received for them, by coin. */
  asked: { unit: string; amount: string }[];
  received: { unit: string; amount: string }[];
  /** Of the wallet that is here. `atLeast`: a part is not known. */
  balances: { network: Network; crypto: string; amount: string; atLeast: boolean }[];
};

/** `pass`: null for a backup with problems. `watch_only`: accounts of other wallets, to be compared with these. */
export type PassedBackup = { pass: string | null; made_at: string; problems: string[]; watch_only: string[] };

/** `computer`: what a server may call this computer. */
export type ServerList = { servers: ServerState[]; computer: string };

export type DesktopResult = {
  'desktop.authorize': Macs;
  'desktop.unlock': Wallet;
  'desktop.lock': Wallet;
  'desktop.changePassphrase': Wallet;
  'desktop.createWallet': string[] | null;
  'desktop.words': string[];
  'desktop.moneroWords': string[];
  'desktop.importMonero': null;
  'desktop.dropMonero': null;
  'desktop.prove': null;
  'desktop.accounts': Awaited<ReturnType<Custody['accounts']>>;
  'desktop.drill': null;
  /** Null: the user chose no place. */
  'desktop.saveBackup': Result<'backup.make'> | null;
  'desktop.chooseBackup': string | null;
  'desktop.remember': Wallet;
  'desktop.forget': Wallet;
  'desktop.settings': DesktopSettings;
  'desktop.setLanguage': DesktopSettings;
  'desktop.setStartAtLogin': DesktopSettings;
  'desktop.servers': ServerList;
  'desktop.join': ServerState;
  'desktop.removeServer': ServerList;
  'desktop.alarmMoney': AlarmMoney | null;
  'desktop.signAgain': ServerList;
  'desktop.backupPass': PassedBackup;
};

const OF_PROGRAM: readonly string[] = [
  'desktop.settings',
  'desktop.setLanguage',
  'desktop.setStartAtLogin',
  'desktop.servers',
  'desktop.join',
  'desktop.removeServer',
  'desktop.alarmMoney',
  'desktop.signAgain',
  'desktop.backupPass',
] satisfies DesktopMethod[];

/** Whether a method is about the program alone, whatever a page is about. */
export const isOfProgram = (name: unknown): boolean => OF_PROGRAM.some((one) => one === name);

export const isDesktopMethod = (name: string): name is DesktopMethod => Object.hasOwn(DESKTOP, name);
