/** Deletes what killed backups, restores and drills left behind: copies of the database. */
import { lstat, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCRATCH_PREFIX } from '../../store/scratch.ts';
import { exists } from '../../wallet/files.ts';
import { DATABASE } from './container.ts';

/** The beginnings of the names of working folders. The operator may have a folder `backup-weekly`. */
export const BACKUP_WORK = 'work-of-backup-';
export const RESTORE_WORK = 'work-of-restore-';
/** The suffix of a restore's working folder while its files are moved. */
export const MOVING_SUFFIX = '.moving';
const IN_DATA_DIR = new RegExp(`^(?:${BACKUP_WORK}|${RESTORE_WORK})[A-Za-z0-9]{6}$`);
const IN_TEMPORARY = new RegExp(`^${SCRATCH_PREFIX}[A-Za-z0-9]{6}$`);

async function sweep(folder: string, isLeftover: RegExp, signal?: AbortSignal): Promise<void> {
  for (const name of (await readdir(folder)).filter((each) => isLeftover.test(each))) {
    const path = join(folder, name);
    const found = await lstat(path).catch(() => null);
    signal?.throwIfAborted();
    // another user could put links into a folder of his while root deletes it
    if (!found?.isDirectory() || found.uid !== (process.geteuid?.() ?? found.uid)) continue;
    // one that is in use on some systems is left
    await rm(path, { recursive: true, force: true }).catch(() => undefined);
  }
}

/** In a data directory. No such work may be running there. Throws when `signal` is aborted. */
export const sweepDataDir = (dataDir: string, signal?: AbortSignal): Promise<void> =>
  sweep(dataDir, IN_DATA_DIR, signal);

/** In the system's temporary folder. */
export const sweepTemporary = (): Promise<void> => sweep(tmpdir(), IN_TEMPORARY).catch(() => undefined);

/** Whether a name is of the working folder of a restore that moves its files, of an earlier release too. */
export const isMoving = (name: string): boolean =>
  name.endsWith(MOVING_SUFFIX) && (name.startsWith(RESTORE_WORK) || /^restore-[A-Za-z0-9]{6}\./.test(name));

/**
 * Whether a restore was interrupted while it moved its files: then its working folder still has the database, the last
 * file. Without it, the restore was complete, and the files beside it may be newer than any backup. `names`: of the data directory.
 */
export async function isCutOff(dataDir: string, names: readonly string[]): Promise<boolean> {
  const moving = names.filter(isMoving);
  const left = await Promise.all(moving.map((name) => exists(join(dataDir, name, DATABASE))));
  return left.some(Boolean);
}
