/**
 * Updates. One that the maker of this package did not sign is passed over. Nothing is fetched and nothing installed before the
 * user has said so for this version.
 */

import { dialog } from 'electron';
import type { AppUpdater } from 'electron-updater';
import { MS_PER_DAY } from '../daemon/domain/time.ts';
import { isSigned } from './signature.ts';
import type { ShellText } from './texts.ts';

const CHECK_MS = MS_PER_DAY;

type Updater = Pick<
  AppUpdater,
  | 'autoDownload'
  | 'autoInstallOnAppQuit'
  | 'allowDowngrade'
  | 'checkForUpdates'
  | 'downloadUpdate'
  | 'quitAndInstall'
  | 'on'
>;

type Ask = (message: string, detail: string, buttons: [later: string, yes: string]) => Promise<boolean>;

const ask: Ask = async (message, detail, buttons) => {
  const { response } = await dialog.showMessageBox({
    type: 'question',
    message,
    detail,
    buttons,
    defaultId: 0,
    cancelId: 0,
  });
  return response === 1;
};

/** `key`: the public key of updates in PEM. `log`: says what failed; the next check is a day later. */
export function watchUpdates(
  text: ShellText,
  updater: Updater,
  key: string,
  log: (line: string) => void,
  asks: Ask = ask,
): NodeJS.Timeout {
  updater.autoDownload = false;
  updater.autoInstallOnAppQuit = false;
  updater.allowDowngrade = false;
  updater.on('error', (error) => log(`The update failed: ${error.message}`));
  /** The version that would be fetched now: of the last answer, which a later one may have replaced. Null: unsigned. */
  let offered: string | null = null;
  updater.on('update-available', (release) => {
    const { version } = release;
    const signed = isSigned(release, key);
    offered = signed ? version : null;
    if (!signed) return log(`The update ${version} is not signed by the maker of this program`);
    void asks(text('updateThere', { version }), text('updateFetch'), [text('later'), text('fetch')]).then(
      (yes) => {
        if (yes && offered === version) return updater.downloadUpdate();
        if (yes) log(`The update ${version} was not fetched: meanwhile another one is offered`);
        return undefined;
      },
      (error: Error) => log(`The update failed: ${error.message}`),
    );
  });
  updater.on('update-downloaded', ({ version }) => {
    const buttons: [string, string] = [text('later'), text('install')];
    void asks(text('updateInstall', { version }), text('updateStops'), buttons).then(
      (yes) => yes && updater.quitAndInstall(),
    );
  });
  const check = (): void => {
    void updater.checkForUpdates().catch((error: Error) => log(`No updates could be looked for: ${error.message}`));
  };
  check();
  return setInterval(check, CHECK_MS);
}
