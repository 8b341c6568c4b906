/** The errors of SQLite and of files that the disk or another process causes. */
import { Rejected, Unavailable } from '../domain/errors.ts';

/** Why writes fail: the disk is full, another process holds the lock, or the disk has another fault. */
export type Trouble = { kind: 'full' | 'locked' | 'failing'; message: string };

const codeOf = (error: unknown): string => {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
};

/** Whether the disk or a lock caused the error, so that the same statement may succeed later. */
export const isDiskError = (error: unknown): boolean =>
  /^SQLITE_(FULL|IOERR|READONLY|CORRUPT|NOTADB|NOMEM|BUSY|PERM|CANTOPEN)/.test(codeOf(error));

export const isLockError = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_BUSY');

export const isFullError = (error: unknown): boolean => codeOf(error) === 'SQLITE_FULL';

/** Whether the disk took no write. SQLite says so of a full one, and of a quota only that it failed. */
export const isRefusal = (error: unknown): boolean => /^SQLITE_(FULL|IOERR_(WRITE|FSYNC))$/.test(codeOf(error));

/** Whether the file itself is not what SQLite wrote. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

export const FULL: Trouble = { kind: 'full', message: 'the disk is full' };

export function troubleOf(error: unknown): Trouble {
  if (isFullError(error)) return FULL;
  if (isLockError(error)) return { kind: 'locked', message: 'another process holds the lock of the database' };
  if (isDamage(error)) {
    return { kind: 'failing', message: `its file is damaged (${codeOf(error)}): restore a backup` };
  }
  const text = error instanceof Error ? error.message : String(error);
  return { kind: 'failing', message: `the disk refuses writes (${codeOf(error) || 'no code'}: ${text})` };
}

/** The error for the operator of a service that could not use its open database; any other error as it is. */
export function startRefused(error: unknown, dataDir: string): unknown {
  const cause = error instanceof Unavailable ? error.cause : error;
  if (!isDiskError(cause)) return error;
  const rejected = new Rejected('store.disk', `The database in ${dataDir} cannot be used: ${troubleOf(cause).message}`);
  rejected.cause = error;
  return rejected;
}
