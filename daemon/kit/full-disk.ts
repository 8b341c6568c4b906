/** The errors of files: why the system refuses them, and whether the disk is full. */
import { constants } from 'node:os';

/** The code of a file's error. libuv has no name for a quota that is used up, and Node gives it various ones. */
export const fileCode = ({ code = '', errno }: NodeJS.ErrnoException): string =>
  errno === -constants.errno.EDQUOT ? 'EDQUOT' : code;

/** Whether a file was not written because the disk or a quota is full. */
export const isFullFile = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(fileCode(error as NodeJS.ErrnoException));

const REASONS: Readonly<Record<string, string>> = {
  EEXIST: 'it is a file',
  ENOTDIR: 'it lies below a file',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the disk is mounted for reading only',
  EIO: 'the disk fails',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of this user is used up',
  EFBIG: 'a limit of the size of files is reached',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
  ENOENT: 'its disk or the folder above it is not there',
  ENAMETOOLONG: 'its name is too long',
  ELOOP: 'links lead around in a circle',
};

/** Why the system refuses a file or folder. */
export function whyRefused(error: NodeJS.ErrnoException): string {
  const code = fileCode(error);
  return `${REASONS[code] ?? 'the system refuses it'} (${code})`;
}

/** Whether the system refused a call on a file: no bug, and no process or connection. */
export const isFileFault = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error &&
  'syscall' in error &&
  typeof error.syscall === 'string' &&
  !/^(spawn|connect|kill)/.test(error.syscall);
