/** The backup that is made before a new release changes a database. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Rejected } from '../../domain/errors.ts';
import { makeBackup } from './make.ts';

const FOLDER = 'upgrades';
const NAME = /^before-.+\.backup$/;
const KEPT_MAX = 3;

/**
 * Makes it in the data directory and keeps a few earlier ones. Returns its file; null without a wallet, when nothing of
 * value is stored. Throws `Rejected('upgrade.backup')`.
 */
export async function backUpBeforeUpgrade(dataDir: string, release: string, now: number): Promise<string | null> {
  const folder = join(dataDir, FOLDER);
  const stamp = new Date(now).toISOString().replace(/[-:.]/g, '').replace('T', '-').slice(0, 18);
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const { file } = await makeBackup({
      dataDir,
      file: join(folder, `before-${release}-${stamp}.backup`),
      release,
      now,
    });
    // the new one is kept whatever the clock says
    const older = (await readdir(folder)).filter((name) => NAME.test(name) && join(folder, name) !== file).sort();
    for (const name of older.slice(0, Math.max(0, older.length + 1 - KEPT_MAX)))
      await rm(join(folder, name), { force: true });
    return file;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    if (code === 'backup.no_wallet') return null;
    throw new Rejected(
      'upgrade.backup',
      `The database must be brought up to date, and the backup that comes before it could not be made: ${message}. Nothing was changed`,
    );
  }
}
