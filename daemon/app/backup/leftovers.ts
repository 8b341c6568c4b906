/** What backups, restores and drills that were killed have left behind: copies of the database that nobody needs. */
import { readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SCRATCH_PREFIX } from '../../store/scratch.ts';

const IN_DATA_DIR = /^(?:backup|restore)-[A-Za-z0-9]{6}$/;
const IN_TEMPORARY = new RegExp(`^${SCRATCH_PREFIX}[A-Za-z0-9]{6}$`);

async function sweep(folder: string, isLeftover: RegExp): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isDirectory() || !isLeftover.test(entry.name)) continue;
    // another user's is not ours to remove, and one in use is held on some systems
    await rm(join(folder, entry.name), { recursive: true, force: true }).catch(() => undefined);
  }
}

/** Removes what lies in a data directory. Nothing of the kind may be under way there. */
export const sweepDataDir = (dataDir: string): Promise<void> => sweep(dataDir, IN_DATA_DIR);

/** Removes what drills have left in the system's temporary folder. */
export const sweepTemporary = (): Promise<void> => sweep(tmpdir(), IN_TEMPORARY).catch(() => undefined);
