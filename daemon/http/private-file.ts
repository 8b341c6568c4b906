/** Files of the service's user alone. */
import { open, rename, rm } from 'node:fs/promises';

/** Writes aside and renames, so that a crash leaves the former text or this one. Returns when it is on the disk. */
export async function writePrivately(file: string, text: string): Promise<void> {
  const aside = `${file}.tmp`;
  await rm(aside, { force: true });
  const handle = await open(aside, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(aside, file);
}
