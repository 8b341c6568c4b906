/** A database with nothing in it, which takes a thirtieth of the time of the migrations that make one, and its reserve. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const FILES = ['countinghouse.db', 'reserve'];

/** What a start leaves in a new data directory that was ended at once. In `bench/` and `mutants/`, each start makes its own. */
export async function beginDatabase(dataDir: string): Promise<void> {
  if (process.env.VITEST === undefined) return;
  const { hasBundles, onceInRun } = await import('./bundles.ts');
  if (!hasBundles()) return;
  const made = await onceInRun('database', async (folder) => {
    await mkdir(folder);
    // in a process of its own: some tests watch the databases that theirs opens
    const args = [join(import.meta.dirname, 'empty-database.ts'), folder];
    await promisify(execFile)(process.execPath, args, { env: { PATH: process.env.PATH, NODE_NO_WARNINGS: '1' } });
  });
  for (const file of FILES) await copyFile(join(made, file), join(dataDir, file));
}
