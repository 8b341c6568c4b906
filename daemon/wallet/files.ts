/**
 * Files that are written completely or not at all, are readable by the owner only, and are durable when the call
 * returns.
 */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { access, link, open, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Unavailable } from '../domain/errors.ts';
import { isFileFault, whyRefused } from '../kit/full-disk.ts';

const RETRY_SECONDS = 60;

/**
 * Creates `file` (mode 0600) in an existing folder. Returns false, without changing it, if the file exists.
 *
 * The contents are synced under a temporary name and then linked to their own. Unlike a rename, a link fails if the
 * name is taken, so that one of two writers wins. The next success removes temporary files of a crash. A process under
 * the permission model needs a caller outside that calls `syncFolder` afterwards.
 */
export async function writeOnce(file: string, contents: string | Uint8Array): Promise<boolean> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeThrough(temporary, contents);
    await link(temporary, file);
  } catch (error) {
    // missing if the winning writer has just removed it as a leftover
    if (hasCode(error, 'EEXIST') || (isMissing(error) && (await exists(file)))) return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await removeLeftovers(file);
  if (!process.permission) await syncFolder(dirname(file));
  return true;
}

/** Synchronous writes, because Node's permission model has no fsync. */
const WRITE_THROUGH = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | (constants.O_SYNC ?? 0);

/** Creates a file whose contents are on the disk when this returns. */
async function writeThrough(file: string, contents: string | Uint8Array): Promise<void> {
  const handle = await open(file, WRITE_THROUGH, 0o600);
  try {
    await handle.writeFile(contents);
    if (!process.permission) await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Replaces or creates `file` (mode 0600): after a crash it has either the old or the new contents. A process under the
 * permission model needs a caller outside that calls `syncFolder` afterwards.
 */
export async function replaceFile(file: string, contents: string | Uint8Array): Promise<void> {
  const temporary = `${file}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await writeThrough(temporary, contents);
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await removeLeftovers(file);
  if (!process.permission) await syncFolder(dirname(file));
}

/** Makes a file without contents (mode 0600), whose name is on the disk when this resolves. Not for a process under the permission model. */
export async function leaveMark(file: string): Promise<void> {
  await writeFile(file, '', { mode: 0o600 });
  await syncFolder(dirname(file));
}

/** The bytes of a file; undefined if there is none. */
export async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

export async function exists(file: string): Promise<boolean> {
  try {
    await access(file);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

/** Whether a file operation failed because the file does not exist. */
export const isMissing = (error: unknown): boolean => hasCode(error, 'ENOENT');

export const hasCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const TEMPORARY = /\.[0-9a-f]{12}\.tmp$/;

/** Whether a file has the temporary name of one that is being written: it may be gone at any moment. */
export const isTemporary = (name: string): boolean => TEMPORARY.test(name);

async function removeLeftovers(file: string): Promise<void> {
  const folder = dirname(file);
  for (const name of await readdir(folder)) {
    const isLeftover = isTemporary(name) && name.replace(TEMPORARY, '') === basename(file);
    if (isLeftover) await rm(join(folder, name), { force: true });
  }
}

/** Makes a folder's new entries durable. Windows has no such call and does not open folders. */
export async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** `Unavailable` in words for a file of the wallet's folder that the system refuses; any other error as it is. */
export function folderFault(error: unknown): unknown {
  if (!isFileFault(error)) return error;
  const isForOthers = error.code === 'EACCES' || error.code === 'EPERM';
  const why = isForOthers ? `its user may not use a file there (${error.code})` : whyRefused(error);
  return new Unavailable(`The folder of the wallet cannot be used: ${why}. Mend that, and try again`, RETRY_SECONDS);
}

/** Throws as `work`, with `folderFault` for what the system refuses. */
export async function inWalletFolder<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw folderFault(error);
  }
}
