/** Creates and checks the data directory. */
import { access, constants, mkdir } from 'node:fs/promises';
import { Rejected } from '../domain/errors.ts';
import { whyRefused } from '../kit/full-disk.ts';

/** Creates the folder for its owner only, if it is missing. Throws `Rejected('data_dir')` if it is not usable. */
export async function makeDataFolder(dataDir: string): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    await access(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new Rejected(
      'data_dir',
      `The data directory ${dataDir} cannot be used: ${whyRefused(error as NodeJS.ErrnoException)}. Give another with --data-dir`,
    );
  }
}
