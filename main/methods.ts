/** The methods of this program (daemon/operator/desktop.ts). Words and passphrases pass through this process sealed to the signer only. */
import type { Call } from '../daemon/contract/operator.ts';
import { Rejected } from '../daemon/domain/errors.ts';
import type { DesktopMethod, DesktopParams, DesktopResult } from '../daemon/operator/desktop.ts';
import { type Custody, type Keyholder, keychainBehind } from '../daemon/operator/keyholder.ts';
import { attempt } from '../daemon/wallet/signer/attempts.ts';
import type { BackupFiles } from './files.ts';
import type { Keychain } from './keychain.ts';
import type { Preferences } from './preferences.ts';
import type { Servers } from './servers.ts';

export type DesktopMethods = {
  readonly [M in DesktopMethod]: (params: DesktopParams<M>) => Promise<DesktopResult[M]>;
};

type Parts = {
  call: Call;
  keyholder: Keyholder;
  custody: Custody;
  keychain: Keychain;
  files: BackupFiles;
  preferences: Preferences;
  servers: Pick<Servers, 'list' | 'join' | 'remove' | 'alarmMoney' | 'signAgain' | 'backupPass'>;
};

export function desktopMethods({
  call,
  keyholder,
  custody,
  keychain,
  files,
  preferences,
  servers,
}: Parts): DesktopMethods {
  /** Paths that the user chose since the start. */
  const chosen = new Set<string>();
  const kept = <T extends string | null>(file: T): T => {
    if (file !== null) chosen.add(file);
    return file;
  };
  const needChosen = (file: string): void => {
    if (!chosen.has(file)) throw new Rejected('backup.folder', 'Choose the file of the backup', 'file');
  };
  return {
    'desktop.authorize': ({ passphrase, wanted }) => keyholder.authorize(passphrase, wanted),
    'desktop.unlock': ({ passphrase }) => keyholder.unlock(passphrase),
    'desktop.lock': () => keyholder.lock(),
    'desktop.changePassphrase': async ({ old, fresh }) => {
      const wallet = await keyholder.changePassphrase(old, fresh);
      if (wallet.unlock !== 'keychain') return wallet;
      return keychain.remember(fresh).catch((error) => Promise.reject(keychainBehind(error)));
    },
    'desktop.createWallet': ({ passphrase, words }) => custody.create(passphrase, words),
    'desktop.words': ({ passphrase }) => custody.words(passphrase),
    'desktop.moneroWords': ({ passphrase, network, accountNo }) => custody.moneroWords(passphrase, network, accountNo),
    'desktop.importMonero': async ({ passphrase, network, accountNo, words }) => {
      await custody.importMonero(passphrase, network, accountNo, words);
      return null;
    },
    'desktop.dropMonero': async ({ passphrase, network, accountNo }) => {
      await custody.dropMonero(passphrase, network, accountNo);
      return null;
    },
    'desktop.prove': async ({ passphrase }) => {
      await custody.prove(passphrase);
      return null;
    },
    'desktop.accounts': ({ passphrase, network, accountNo }) => custody.accounts(passphrase, network, accountNo),
    'desktop.drill': async ({ passphrase, file }) => {
      needChosen(file);
      await custody.drill(passphrase, file);
      return null;
    },
    'desktop.saveBackup': async () => {
      const file = kept(await files.forSaving());
      return file === null ? null : call('backup.make', { file });
    },
    'desktop.chooseBackup': async () => kept(await files.forDrill()),
    'desktop.remember': ({ passphrase }) => keychain.remember(passphrase),
    'desktop.forget': () => keychain.forget(),
    'desktop.settings': async () => preferences.all(),
    'desktop.setLanguage': async ({ language }) => preferences.setLanguage(language),
    'desktop.setStartAtLogin': async ({ on }) => preferences.setStartAtLogin(on),
    'desktop.servers': () => servers.list(),
    'desktop.join': (asked) => servers.join(asked),
    'desktop.removeServer': ({ server }) => servers.remove(server),
    'desktop.alarmMoney': ({ server }) => servers.alarmMoney(server),
    'desktop.signAgain': (looked) => servers.signAgain(looked),
    'desktop.backupPass': async (asked) => {
      needChosen(asked.file);
      return servers.backupPass(asked);
    },
  };
}

/** Refuses for a server, which does it on its own machine alone. */
const thereAlone = async (): Promise<never> => {
  throw new Rejected('signer.unsupported', 'This is done on the server itself');
};

/** For the pages of a server, whose backups are made there. */
export const filesOfServer = (files: BackupFiles): BackupFiles => ({ ...files, forSaving: thereAlone });

/** Slows down a page that guesses passphrases. `folder`: of the wallet. */
export const slowed = <T>(folder: string, make: () => Promise<T>): Promise<T> =>
  attempt(folder, Date.now, make, (error) => error instanceof Rejected && error.code === 'vault.passphrase');

/** MACs are made in this process, where nothing else would slow guesses down. `folder`: of the wallet. */
export const slowedKeyholder = (keyholder: Keyholder, folder: string): Keyholder => ({
  ...keyholder,
  authorize: (passphrase, wanted) => slowed(folder, () => keyholder.authorize(passphrase, wanted)),
});
