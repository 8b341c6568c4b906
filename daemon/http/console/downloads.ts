/**
 * Backups as downloads of a browser: made into the data folder, sent once, and removed.
 *
 * Invariant: the code in a download's address is secret, works once, and for ten minutes. The file is encrypted to the
 * wallet's words besides.
 */
import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { OperatorExtra } from '../operator/context.ts';

const CODE_BYTES = 32;
const KEPT_MS = 600_000;
const PATH = '/backup/';
const FILE = /^download-[0-9a-f]{32}\.backup$/;

type Ticket = { code: string; file: string; bytes: number; name: string; endsAt: number };

export class Downloads {
  readonly #extra: Pick<OperatorExtra, 'dataDir' | 'makeBackup'>;
  readonly #now: () => number;
  /** A new one takes the place of the last, so that they never fill the disk. */
  #made: Ticket | null = null;

  constructor(extra: Pick<OperatorExtra, 'dataDir' | 'makeBackup'>, now: () => number) {
    this.#extra = extra;
    this.#now = now;
  }

  /** Makes a backup; returns the address from which it can be fetched once. Throws `Rejected` `backup.*`. */
  async make(): Promise<{ path: string; bytes: number; made_at: string }> {
    const { dataDir, makeBackup } = this.#extra;
    await this.sweep();
    const file = join(dataDir, `download-${randomBytes(16).toString('hex')}.backup`);
    const { bytes, manifest } = await makeBackup(file);
    const day = manifest.made_at.slice(0, 10);
    const code = randomBytes(CODE_BYTES).toString('base64url');
    this.#made = { code, file, bytes, name: `countinghouse-${day}.backup`, endsAt: this.#now() + KEPT_MS };
    return { path: `${PATH}${code}`, bytes, made_at: manifest.made_at };
  }

  static isOne = (path: string): boolean => path.startsWith(PATH);

  /** Sends the file; false if there is none at this address. */
  async send(path: string, response: ServerResponse, headers: Record<string, string>): Promise<boolean> {
    const made = this.#made;
    if (!made || path.slice(PATH.length) !== made.code || made.endsAt < this.#now()) return false;
    this.#made = null;
    response.writeHead(200, {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-length': made.bytes,
      'content-disposition': `attachment; filename="${made.name}"`,
      'cache-control': 'no-store',
    });
    await pipeline(createReadStream(made.file), response)
      .catch(() => undefined)
      .finally(() => rm(made.file, { force: true }));
    return true;
  }

  /** Removes files that were not fetched, also those of an earlier run. */
  async sweep(): Promise<void> {
    this.#made = null;
    await sweepFiles(this.#extra.dataDir, FILE);
  }
}

/** Removes the files of a folder whose names match. */
export async function sweepFiles(folder: string, pattern: RegExp): Promise<void> {
  const names = (await readdir(folder)).filter((name) => pattern.test(name));
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
}
