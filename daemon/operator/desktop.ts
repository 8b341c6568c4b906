/**
 * The methods of the desktop program's main process, which the console's page calls like those of the operator API: all that
 * needs the wallet's passphrase, files that the user chooses, and the program's own settings.
 */
import { z } from 'zod';
import type { Result } from '../contract/operator.ts';
import { NETWORKS } from '../domain/assets.ts';
import type { Macs } from '../wallet/signer/port.ts';
import { AuthorizationShape } from '../wallet/signer/wire.ts';
import type { Custody, Wallet } from './keyholder.ts';

const SECRET_CHARS_MAX = 1_000;
const PATH_CHARS_MAX = 4_096;
const TAG_CHARS_MAX = 20;

const Nothing = z.strictObject({});
const passphrase = z.string().min(1).max(SECRET_CHARS_MAX);
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
} as const;

export type DesktopMethod = keyof typeof DESKTOP;
export type DesktopParams<M extends DesktopMethod> = z.output<(typeof DESKTOP)[M]>;

/** `startAtLogin`: null where the program cannot be started so. */
export type DesktopSettings = { language: string; startAtLogin: boolean | null };

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
};

export const isDesktopMethod = (name: string): name is DesktopMethod => Object.hasOwn(DESKTOP, name);
