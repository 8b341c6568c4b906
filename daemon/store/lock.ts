/** The lock of a data directory. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Rejected } from '../domain/errors.ts';

const FILE = 'lock';

/**
 * Makes this process the only one that writes to a data directory, until the returned connection is closed. Throws
 * `Rejected('store.locked')`. It is an exclusive transaction on a small separate file: the operating system releases it when the
 * process ends, and read-only connections to the real database stay possible.
 */
export function takeLock(dataDir: string): Database.Database {
  const lock = new Database(join(dataDir, FILE), { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new Rejected('store.locked', 'Another Countinghouse is running on this data directory');
  }
}
