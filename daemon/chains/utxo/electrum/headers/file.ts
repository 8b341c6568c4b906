/**
 * A flat file of headers, 80 bytes each, after a preamble with the block that they follow. It is only appended to or
 * truncated. It is a cache: damaged parts are cut off and fetched again, so nothing waits for the disk.
 *
 * Invariant: headers were verified before they were appended. `open` returns the complete records; the caller checks
 * their links.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { assert } from '../../../../domain/errors.ts';
import { HEADER_BYTES } from './header.ts';

const PREAMBLE_BYTES = 64;
const MAGIC = Buffer.from('cnthdr1\n');

export class HeaderFile {
  readonly #fd: number;
  #count: number;

  private constructor(fd: number, count: number) {
    this.#fd = fd;
    this.#count = count;
  }

  /** Opens or makes the file of headers that follow a block. A file for another block is emptied. */
  static open(path: string, base: { height: number; hash: Uint8Array }): HeaderFile {
    const preamble = Buffer.alloc(PREAMBLE_BYTES);
    MAGIC.copy(preamble);
    preamble.writeUInt32LE(base.height, MAGIC.length);
    preamble.set(base.hash, MAGIC.length + 4);
    const fd = openOrMake(path);
    try {
      return new HeaderFile(fd, countOf(fd, preamble));
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  }

  get count(): number {
    return this.#count;
  }

  /** `count` headers from `index` on; all of them must exist. */
  read(index: number, count = 1): Buffer {
    assert(index >= 0 && index + count <= this.#count, 'a header that is held');
    const bytes = Buffer.allocUnsafe(count * HEADER_BYTES);
    const got = readSync(this.#fd, bytes, 0, bytes.length, PREAMBLE_BYTES + index * HEADER_BYTES);
    if (got !== bytes.length) throw new Error('a header file became shorter than what was written to it');
    return bytes;
  }

  /** Appends whole headers. Throws errors of the file system, such as ENOSPC; then none of them counts. */
  append(bytes: Uint8Array): void {
    const at = PREAMBLE_BYTES + this.#count * HEADER_BYTES;
    for (let written = 0; written < bytes.length; ) {
      written += writeSync(this.#fd, bytes, written, bytes.length - written, at + written);
    }
    this.#count += bytes.length / HEADER_BYTES;
  }

  /** Keeps only the first `count` headers. */
  cut(count: number): void {
    if (count >= this.#count) return;
    ftruncateSync(this.#fd, PREAMBLE_BYTES + count * HEADER_BYTES);
    this.#count = count;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** How many headers an open file holds; none if it does not begin with this preamble, which it then gets. */
function countOf(fd: number, preamble: Buffer): number {
  const found = Buffer.alloc(PREAMBLE_BYTES);
  const { size } = fstatSync(fd);
  readSync(fd, found, 0, PREAMBLE_BYTES, 0);
  if (size >= PREAMBLE_BYTES && found.equals(preamble)) return Math.floor((size - PREAMBLE_BYTES) / HEADER_BYTES);
  ftruncateSync(fd, 0);
  writeSync(fd, preamble, 0, PREAMBLE_BYTES, 0);
  return 0;
}

function openOrMake(path: string): number {
  try {
    return openSync(path, 'r+');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return openSync(path, 'w+', 0o600);
  }
}
