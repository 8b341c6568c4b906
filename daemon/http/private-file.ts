/** Files of the service's user alone. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Unavailable } from '../domain/errors.ts';

const RETRY_SECONDS = 60;

/**
 * Writes aside and renames, so that a crash leaves the former text or this one, and a power cut this one once it returns. Throws
 * `Unavailable` if the disk does not take it.
 */
export async function writePrivately(file: string, text: string): Promise<void> {
  const aside = `${file}.tmp`;
  try {
    await rm(aside, { force: true });
    const handle = await open(aside, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(aside, file);
    await syncFolder(dirname(file));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new Unavailable(`The disk does not take it (${code ?? message})`, RETRY_SECONDS);
  }
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
