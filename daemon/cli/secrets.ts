/** Secrets in files, for scripts. */
import { readFile } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { EXIT, Failure } from './io.ts';

const SECRET_BYTES_MAX = 4_096;

/** The secret in a file, or in `input` where the path is `-`; without the final line end. */
export async function secretFile(path: string, option: string, input: Readable = process.stdin): Promise<string> {
  const bytes = await (path === '-' ? readInput(input) : readFile(path)).catch((error: NodeJS.ErrnoException) => {
    const why = error.code === 'ENOENT' ? 'is not there' : 'cannot be read';
    throw new Failure(`${option}: ${path} ${why}`, EXIT.usage, 'usage');
  });
  if (bytes.length > SECRET_BYTES_MAX) throw new Failure(`${option}: ${path} is too large`, EXIT.usage, 'usage');
  const text = bytes.toString('utf8').replace(/\r?\n$/, '');
  if (text === '') throw new Failure(`${option}: ${path} is empty`, EXIT.usage, 'usage');
  return text;
}

async function readInput(input: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of input) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes > SECRET_BYTES_MAX) break;
  }
  return Buffer.concat(chunks);
}
