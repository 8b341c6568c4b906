/** Files of the service's user alone. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Unavailable } from '../domain/errors.ts';

const RETRY_SECONDS = 60;

/** It is stored, and whoever reads the file finds it; a power cut could still bring the former text back. */
export class NotDurable extends Unavailable {}

/**
 * Writes aside and renames, so that a crash leaves the former text or this one, and a power cut this one once it returns. Throws
 * `NotDurable`, and another `Unavailable` if the disk does not take it: then the former text stays.
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
  } catch (error) {
    throw new Unavailable(`The disk does not take it (${reasonOf(error)})`, RETRY_SECONDS);
  }
  await syncFolder(dirname(file)).catch((error: unknown) => {
    throw new NotDurable(`It is stored, but a power cut could undo it (${reasonOf(error)})`, RETRY_SECONDS);
  });
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}

async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  const handle = await open(folder, 'r');
  await handle.sync().finally(() => handle.close());
}
