/** The files of backups that the user chooses. A page names none by itself. */
import { join } from 'node:path';
import { app, dialog } from 'electron';
import type { ShellText } from './texts.ts';

/** Both resolve to an absolute path; null: the user chose none. */
export type BackupFiles = { forSaving(): Promise<string | null>; forDrill(): Promise<string | null> };

const ENDING = 'backup';

export function backupFiles(text: ShellText, now: () => Date = () => new Date()): BackupFiles {
  const filters = () => [{ name: text('backup'), extensions: [ENDING] }];
  return {
    async forSaving() {
      const name = `countinghouse-${now().toISOString().slice(0, 10)}.${ENDING}`;
      const defaultPath = join(app.getPath('documents'), name);
      const { filePath } = await dialog.showSaveDialog({ title: text('saveBackup'), defaultPath, filters: filters() });
      return filePath || null;
    },
    async forDrill() {
      const title = text('chooseBackup');
      const { filePaths } = await dialog.showOpenDialog({ title, properties: ['openFile'], filters: filters() });
      return filePaths[0] ?? null;
    },
  };
}
