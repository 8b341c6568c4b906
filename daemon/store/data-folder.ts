/** Creates and checks the data directory. */
import { access, constants, mkdir } from 'node:fs/promises';
import { Rejected } from '../domain/errors.ts';
import { fileCode } from '../kit/full-disk.ts';

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOTDIR: 'it lies below a file',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is mounted for reading only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  ENOENT: 'its disk or the folder above it is not there',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'links lead around in a circle',
};

/** Why the system refuses a file or folder. */
export function whyRefused(error: NodeJS.ErrnoException): string {
  const code = fileCode(error);
  return `${REASONS[code] ?? 'the system refuses it'} (${code})`;
}

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
