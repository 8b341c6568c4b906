/**
 * The held headers on disk: one file that grows upwards from the checkpoint, and one that grows downwards.
 *
 * Invariant: every header is linked by hash to the checkpoint. `open` checks the links again and cuts off what a crash
 * or a broken disk left unlinked.
 */
import { join } from 'node:path';
import type { BlockId } from '../../../../domain/chain.ts';
import { Unavailable } from '../../../../domain/errors.ts';
import { fromReversedHex, sha256d } from '../../../../kit/bytes.ts';
import { slices } from '../../../slices.ts';
import { HeaderFile } from './file.ts';
import { asNumber, bitsOf, HEADER_BYTES, previousOf } from './header.ts';
import type { HeaderRules } from './rules.ts';
import { verifyScrypt } from './run.ts';
import { targetOfBits, workOfTarget } from './target.ts';
import { HeaderRejected } from './types.ts';

/** Headers per read. */
const CHUNK_HEADERS = 512;
const WRITE_RETRY_SECONDS = 60;

/** The header at an index of a run. A view, not a copy. */
export const nthHeader = (headers: Buffer, index: number): Buffer =>
  headers.subarray(index * HEADER_BYTES, (index + 1) * HEADER_BYTES);

/** The work that a verified header stands for. */
export const workOf = (header: Buffer): bigint => workOfTarget(targetOfBits(bitsOf(header)) ?? 0n);

export class HeaderStore {
  readonly base: BlockId;
  /** Ascending; the first is at `base.height + 1`. */
  readonly #above: HeaderFile;
  /** Descending; the first is the base itself. */
  readonly #below: HeaderFile;
  #tipHash: Buffer;
  #work = 0n;

  private constructor(base: BlockId, above: HeaderFile, below: HeaderFile) {
    this.base = base;
    this.#above = above;
    this.#below = below;
    this.#tipHash = fromReversedHex(base.hash);
  }

  /** Opens or makes `<name>.headers` and `<name>.older-headers`. Throws errors of the file system. */
  static async open(folder: string, name: string, base: BlockId, rules: HeaderRules): Promise<HeaderStore> {
    const on = { height: base.height, hash: fromReversedHex(base.hash) };
    const above = HeaderFile.open(join(folder, `${name}.headers`), on);
    const files = [above];
    try {
      const below = HeaderFile.open(join(folder, `${name}.older-headers`), on);
      files.push(below);
      const store = new HeaderStore(base, above, below);
      await store.#checkBelow();
      await store.#checkAbove(rules);
      return store;
    } catch (error) {
      for (const file of files) file.close();
      throw error;
    }
  }

  get tipHeight(): number {
    return this.base.height + this.#above.count;
  }

  /** Not a copy: do not change it. */
  get tipHash(): Buffer {
    return this.#tipHash;
  }

  get lowest(): number {
    return this.base.height + 1 - this.#below.count;
  }

  get work(): bigint {
    return this.#work;
  }

  bytesAt(height: number): Buffer | null {
    if (height > this.base.height) {
      const index = height - this.base.height - 1;
      return index < this.#above.count ? this.#above.read(index) : null;
    }
    const index = this.base.height - height;
    return height >= 0 && index < this.#below.count ? this.#below.read(index) : null;
  }

  hashAt(height: number): Buffer | null {
    if (height === this.base.height) return fromReversedHex(this.base.hash);
    const bytes = this.bytesAt(height);
    return bytes ? sha256d(bytes) : null;
  }

  /** The headers above `height`, which must not be below the base. */
  readAbove(height: number): Buffer {
    const kept = height - this.base.height;
    const count = this.#above.count - kept;
    return count > 0 ? this.#above.read(kept, count) : Buffer.alloc(0);
  }

  /** The hash of the next older header. */
  get hashBelow(): Buffer {
    const { count } = this.#below;
    return count === 0 ? fromReversedHex(this.base.hash) : Buffer.from(previousOf(this.#below.read(count - 1)));
  }

  /** Adds verified older headers in descending order. Throws `Unavailable` if the disk refuses. */
  appendBelow(descending: Buffer): void {
    write(() => this.#below.append(descending));
  }

  /**
   * Replaces all headers above `height`, whose work is `leavingWork`, by verified ones with `work`. Throws
   * `Unavailable` if the disk refuses; then the chain ends at `height`.
   */
  replaceAbove(height: number, headers: Buffer, work: bigint, leavingWork: bigint): void {
    const parent = this.hashAt(height) as Buffer;
    write(() => this.#above.cut(height - this.base.height));
    this.#tipHash = parent;
    this.#work -= leavingWork;
    write(() => this.#above.append(headers));
    this.#tipHash = sha256d(nthHeader(headers, headers.length / HEADER_BYTES - 1));
    this.#work += work;
  }

  close(): void {
    this.#above.close();
    this.#below.close();
  }

  /** Truncates the lower file at a header whose hash is not the expected one. */
  async #checkBelow(): Promise<void> {
    let expected = fromReversedHex(this.base.hash);
    await eachOf(this.#below, (header, index) => {
      if (!sha256d(header).equals(expected)) {
        this.#below.cut(index);
        return false;
      }
      expected = Buffer.from(previousOf(header));
      return true;
    });
  }

  /** Truncates the upper file at a header that does not link, and at a last one without enough work. */
  async #checkAbove(rules: HeaderRules): Promise<void> {
    await eachOf(this.#above, (header, index) => {
      const target = targetOfBits(bitsOf(header));
      if (!previousOf(header).equals(this.#tipHash) || target === null) {
        this.#above.cut(index);
        return false;
      }
      this.#tipHash = sha256d(header);
      this.#work += workOfTarget(target);
      return true;
    });
    // no header links to the last one: its work shows that it is intact
    const { count } = this.#above;
    if (count === 0) return;
    const last = this.#above.read(count - 1);
    if (await hasWork(rules, last)) return;
    this.#work -= workOf(last);
    this.#tipHash = Buffer.from(previousOf(last));
    this.#above.cut(count - 1);
  }
}

function write(change: () => void): void {
  try {
    change();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Unavailable(`the chain of headers cannot be written (${code}): is the disk full?`, WRITE_RETRY_SECONDS);
  }
}

async function hasWork(rules: HeaderRules, header: Buffer): Promise<boolean> {
  if (rules.proofOfWork === 'sha256d') return asNumber(sha256d(header)) <= (targetOfBits(bitsOf(header)) ?? 0n);
  try {
    await verifyScrypt(header, 0);
    return true;
  } catch (error) {
    if (error instanceof HeaderRejected) return false;
    throw error;
  }
}

/** Passes every header of a file to `look`, in short turns, until `look` returns that it is done. */
async function eachOf(file: HeaderFile, look: (header: Buffer, index: number) => boolean): Promise<void> {
  const pause = slices();
  for (let from = 0; from < file.count; from += CHUNK_HEADERS) {
    const count = Math.min(CHUNK_HEADERS, file.count - from);
    const chunk = file.read(from, count);
    for (let index = 0; index < count; index++) if (!look(nthHeader(chunk, index), from + index)) return;
    const rest = pause();
    if (rest) await rest;
  }
}
