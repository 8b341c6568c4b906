/**
 * Files that are written whole or not at all, for the owner's eyes only, and durable when the call returns.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Creates `file` (mode 0600) in an existing folder. False when there is such a file already, which is left as it is.
 *
 * The contents are synced under another name and then linked to their own, which unlike a rename fails when the name
 * is taken, so that of two writers one wins. What a crash leaves under the other name goes with the next success.
 */
export async function writeOnce(file: string, contents: string | Uint8Array): Promise<boolean> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(contents);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(temporary, file);
  } catch (error) {
    // Missing when a writer who won has just swept it away as a leftover.
    if (hasCode(error, 'EEXIST') || (isMissing(error) && (await exists(file)))) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await removeLeftovers(file);
  await syncFolder(dirname(file));
  return true;
}

/** Writes that are on the disk when they return: Node's permission model has no fsync. */
const WRITE_THROUGH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_SYNC ?? 0);

/**
 * Puts `contents` in the place of `file` (mode 0600), which may be missing: after a crash the old ones are there, or the
 * new ones, whole. In a process under the permission model the caller outside has to follow with `syncFolder`.
 */
export async function replaceFile(file: string, contents: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    const handle = await open(temporary, WRITE_THROUGH, 0o600);
    try {
      await handle.writeFile(contents);
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await removeLeftovers(file);
  if (!process.permission) await syncFolder(dirname(file));
}

/** Whether there is such a file. */
export async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Whether a file operation failed because the file is not there. */
export const isMissing = (error: unknown): boolean => hasCode(error, 'ENOENT');

const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

async function removeLeftovers(file: string): Promise<void> {
  const folder = dirname(file);
  const pattern = /^\.[0-9a-f]{12}\.tmp$/;
  for (const name of await readdir(folder)) {
    const isLeftover = name.startsWith(basename(file)) && pattern.test(name.slice(basename(file).length));
    if (isLeftover) await rm(join(folder, name), { force: true });
  }
}

/** Makes the folder's new entries durable. Windows has no such call and refuses to open a folder. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
