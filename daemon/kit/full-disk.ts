/** A disk that is full, or whose quota is used up, as errors of files tell it. */
import { constants } from 'node:os';

/** The code of a file's error. libuv has no name for a quota that is used up, and Node gives it various ones. */
export const fileCode = ({ code = '', errno }: NodeJS.ErrnoException): string =>
  errno === -constants.errno.EDQUOT ? 'EDQUOT' : code;

/** Whether a file was not written because the disk or a quota is full. */
export const isFullFile = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(fileCode(error as NodeJS.ErrnoException));
