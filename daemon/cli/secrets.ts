/** Secrets in files, for scripts. */
import { readFile } from 'node:fs/promises';
import { EXIT, Failure } from './io.ts';

const SECRET_BYTES_MAX = 4_096;

/** The secret in a file, without the final line end. */
export async function secretFile(path: string, option: string): Promise<string> {
  const bytes = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'is not there' : 'cannot be read';
    throw new Failure(`${option}: ${path} ${why}`, EXIT.usage, 'usage');
  });
  if (bytes.length > SECRET_BYTES_MAX) throw new Failure(`${option}: ${path} is too large`, EXIT.usage, 'usage');
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (text === '') throw new Failure(`${option}: ${path} is empty`, EXIT.usage, 'usage');
  return text;
}
