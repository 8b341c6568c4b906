/**
 * Files that are written once: whole or not at all, for the owner's eyes only, and durable when the call returns.
 */
import { randomBytes } from 'node:crypto';
import { access, link, open, readdir, rm } from 'node:fs/promises';
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

/** Makes the folder's new entry durable. Windows has no such call and refuses to open a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
