/**
 * The chain of headers of one ledger: grown upwards from a checkpoint by verified work, and downwards by hash where a
 * restore needs older ones. What a server says changes it only if it is valid and has more work than all that is known.
 *
 * Invariant: every header that is held is linked by hash to the checkpoint. On disk there are two files that grow at
 * their ends, upwards above the checkpoint and downwards from it; in memory there is nothing that grows. At 80 bytes a
 * header the disk is bounded by the height of the chain: about 4 MB a year for Bitcoin and Bitcoin Cash, 17 MB for
 * Litecoin, and the whole chain at the most when a restore asks for it (80 MB, 80 MB, 260 MB in 2026).
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Network } from '../../../domain/assets.ts';
import type { BlockId } from '../../../domain/chain.ts';
import { assert } from '../../../domain/errors.ts';
import type { UtxoChain } from '../params.ts';
import { slices } from '../slices.ts';
import { checkpointOf } from './checkpoints.ts';
import {
  asNumber,
  bitsOf,
  HEADER_BYTES,
  previousOf,
  printed,
  readHeader,
  sha256d,
  timeOf,
  unprinted,
} from './header.ts';
import { HeaderFile } from './header-file.ts';
import { FUTURE_SECONDS_MAX, MEDIAN_BLOCKS, medianOf, verifyRun, verifyScrypt } from './header-run.ts';
import {
  type Connected,
  HEADERS_PER_CALL_MAX,
  HEADERS_PER_REQUEST,
  type Header,
  type HeaderRange,
  HeaderRejected,
  type Headers,
} from './header-types.ts';
import { type HeaderRules, rulesOf } from './rules.ts';
import { targetOfBits, workOfTarget } from './target.ts';

/** Read from the files at once. */
const CHUNK_HEADERS = 512;
/** How much longer a run is made each time that it does not connect. */
const WALK_BACK_FACTOR = 2;

export type HeaderChainOptions = {
  chain: UtxoChain;
  network: Network;
  /** The folder that the files lie in. It is made when it is not there. */
  folder: string;
  /** Which of several public test networks, by its first block. */
  genesis?: string;
  /** What to begin from instead of the built-in checkpoint. */
  checkpoint?: BlockId;
  /** The true time, milliseconds since 1970. */
  now?: () => number;
};

export class HeaderChain implements Headers {
  readonly base: BlockId;
  readonly #rules: HeaderRules;
  readonly #now: () => number;
  /** Ascending; the first is at `base.height + 1`. */
  readonly #above: HeaderFile;
  /** Descending; the first is the base itself. */
  readonly #below: HeaderFile;
  #tipHash: Buffer;
  #work = 0n;
  /** The end of the last change that was asked for. */
  #changes: Promise<unknown> = Promise.resolve();

  private constructor(base: BlockId, rules: HeaderRules, above: HeaderFile, below: HeaderFile, now: () => number) {
    this.base = base;
    this.#rules = rules;
    this.#above = above;
    this.#below = below;
    this.#now = now;
    this.#tipHash = unprinted(base.hash);
  }

  /** Opens the chain. What is damaged in its files is dropped, to be fetched again. Throws what the file system does. */
  static async open(options: HeaderChainOptions): Promise<HeaderChain> {
    const { chain, network, folder, genesis, now = Date.now } = options;
    const rules = rulesOf(chain, network, genesis);
    assert(rules, `${chain} has no chain of headers on ${network}`);
    const base = options.checkpoint ?? checkpointOf(rules);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const on = { height: base.height, hash: unprinted(base.hash) };
    const name = join(folder, `${chain}-${network}`);
    const above = HeaderFile.open(`${name}.headers`, on);
    const below = HeaderFile.open(`${name}.older-headers`, on);
    const opened = new HeaderChain(base, rules, above, below, now);
    await opened.#checkBelow();
    await opened.#checkAbove();
    return opened;
  }

  get tip(): BlockId {
    return { height: this.base.height + this.#above.count, hash: printed(this.#tipHash) };
  }

  get lowest(): number {
    return this.base.height + 1 - this.#below.count;
  }

  get work(): bigint {
    return this.#work;
  }

  /** How many headers below the base the rules look at. */
  get #contextFrom(): number {
    const { difficulty } = this.#rules;
    const blocks = difficulty.kind === 'retarget' ? difficulty.intervals + 1 : MEDIAN_BLOCKS;
    return Math.max(0, this.base.height + 1 - blocks);
  }

  wantedBelow(height: number = this.#contextFrom): HeaderRange | null {
    if (this.lowest <= height) return null;
    const from = Math.max(height, this.lowest - HEADERS_PER_REQUEST);
    return { from, count: this.lowest - from };
  }

  prepend(bytes: Uint8Array, from: number): Promise<void> {
    return this.#exclusive(async () => {
      const headers = wholeHeaders(bytes, from);
      const pause = slices();
      let expected = this.#lowestPrevious();
      const count = headers.length / HEADER_BYTES;
      if (from < 0 || from + count !== this.lowest) throw new HeaderRejected('length', from, 'not what was asked for');
      const reversed = Buffer.alloc(headers.length);
      for (let index = count - 1; index >= 0; index--) {
        const header = nth(headers, index);
        if (!sha256d(header).equals(expected)) {
          throw new HeaderRejected('link', from + index, 'is not the one that the next one names');
        }
        header.copy(reversed, (count - 1 - index) * HEADER_BYTES);
        expected = previousOf(header);
        const rest = pause();
        if (rest) await rest;
      }
      this.#below.append(reversed);
    });
  }

  connect(bytes: Uint8Array, from: number): Promise<Connected> {
    return this.#exclusive(async () => {
      assert(this.wantedBelow() === null, 'the headers below the checkpoint come first');
      const headers = wholeHeaders(bytes, from);
      const count = headers.length / HEADER_BYTES;
      const { base, tip } = this;
      if (from > tip.height + 1) return { kind: 'apart', retryFrom: tip.height + 1 };
      const known = await this.#knownOf(headers, from);
      if (known === count) return { kind: 'known' };
      const start = from + known;
      if (start <= base.height) throw new HeaderRejected('checkpoint', start, `is not on the chain of ${base.hash}`);
      const parent = this.#hashBytesAt(start - 1);
      assert(parent, 'what is above the base is held');
      const fresh = headers.subarray(known * HEADER_BYTES);
      if (known === 0 && !previousOf(fresh).equals(parent)) return this.#apart(from, count);
      return this.#follow(fresh, start, parent);
    });
  }

  at(height: number): Header | null {
    const bytes = this.#bytesAt(height);
    return bytes ? readHeader(bytes, height) : null;
  }

  hashAt(height: number): string | null {
    const hash = this.#hashBytesAt(height);
    return hash ? printed(hash) : null;
  }

  medianTimeSeconds(height: number): number | null {
    const times: number[] = [];
    for (let at = height; at >= 0 && times.length < MEDIAN_BLOCKS; at--) {
      const bytes = this.#bytesAt(at);
      if (!bytes) return null;
      times.push(timeOf(bytes));
    }
    return times.length === 0 ? null : medianOf(times);
  }

  heightBefore(timeMs: number): number | null {
    const limit = timeMs / 1000 - FUTURE_SECONDS_MAX;
    const { lowest } = this;
    const first = lowest === 0 ? 0 : lowest + MEDIAN_BLOCKS - 1;
    const isBefore = (height: number): boolean => (this.medianTimeSeconds(height) ?? Number.POSITIVE_INFINITY) < limit;
    if (!isBefore(first)) return lowest === 0 ? 0 : null;
    let before = first;
    let after = this.tip.height + 1;
    while (after - before > 1) {
      const middle = Math.floor((before + after) / 2);
      if (isBefore(middle)) before = middle;
      else after = middle;
    }
    return Math.max(lowest, before - MEDIAN_BLOCKS);
  }

  async close(): Promise<void> {
    await this.#exclusive(async () => {
      this.#above.close();
      this.#below.close();
    });
  }

  /** Runs a change after those that were asked for before it, whatever became of them. */
  #exclusive<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(change);
    this.#changes = done.catch(() => {});
    return done;
  }

  #bytesAt(height: number): Buffer | null {
    if (height > this.base.height) {
      const index = height - this.base.height - 1;
      return index < this.#above.count ? this.#above.read(index) : null;
    }
    const index = this.base.height - height;
    return height >= 0 && index < this.#below.count ? this.#below.read(index) : null;
  }

  #hashBytesAt(height: number): Buffer | null {
    if (height === this.base.height) return unprinted(this.base.hash);
    const bytes = this.#bytesAt(height);
    return bytes ? sha256d(bytes) : null;
  }

  /** The hash that the next older header must have. */
  #lowestPrevious(): Buffer {
    const { count } = this.#below;
    return count === 0 ? unprinted(this.base.hash) : Buffer.from(previousOf(this.#below.read(count - 1)));
  }

  /** How many of the headers, from the first on, are on the chain already. Those below all that is held count as such. */
  async #knownOf(headers: Buffer, from: number): Promise<number> {
    const pause = slices();
    const count = headers.length / HEADER_BYTES;
    for (let index = 0; index < count; index++) {
      const held = from + index < this.lowest ? null : this.#bytesAt(from + index);
      if (held ? !held.equals(nth(headers, index)) : from + index >= this.lowest) return index;
      const rest = pause();
      if (rest) await rest;
    }
    return count;
  }

  /** The run does not follow the block below it: begin it lower. */
  #apart(from: number, count: number): Connected {
    const lowestStart = this.base.height + 1;
    if (from === lowestStart) throw new HeaderRejected('checkpoint', from, `does not follow ${this.base.hash}`);
    if (count >= HEADERS_PER_CALL_MAX) throw new HeaderRejected('deep', from, `parts below all ${count} headers`);
    const more = Math.min(WALK_BACK_FACTOR * count, HEADERS_PER_CALL_MAX - count);
    return { kind: 'apart', retryFrom: Math.max(lowestStart, from - more) };
  }

  /** Verifies headers that follow the chain's block at `start - 1`, and takes them if that makes for more work. */
  async #follow(fresh: Buffer, start: number, parent: Buffer): Promise<Connected> {
    const old = this.tip.height - start + 1;
    if (old > HEADERS_PER_CALL_MAX) throw new HeaderRejected('deep', start, `parts ${old} blocks below the tip`);
    const work = await verifyRun({
      rules: this.#rules,
      bytes: fresh,
      from: start,
      previous: parent,
      known: (height) => this.#bytesAt(height),
      nowSeconds: Math.floor(this.#now() / 1000),
      easiest: this.#easiest(),
    });
    const kept = start - this.base.height - 1;
    const leaving = old > 0 ? this.#above.read(kept, old) : Buffer.alloc(0);
    const oldWork = workOf(leaving);
    if (work <= oldWork) return { kind: 'weaker', forkHeight: start - 1, missingWork: oldWork - work + 1n };
    const orphaned = Array.from({ length: old }, (_, index) => ({
      height: start + index,
      hash: printed(sha256d(nth(leaving, index))),
    }));
    this.#above.cut(kept);
    this.#tipHash = parent;
    this.#work -= oldWork;
    this.#above.append(fresh);
    this.#tipHash = sha256d(nth(fresh, fresh.length / HEADER_BYTES - 1));
    this.#work += work;
    return { kind: 'extended', tip: this.tip, added: fresh.length / HEADER_BYTES, orphaned };
  }

  /** The easiest target that a header may have. */
  #easiest(): bigint {
    const { easingMax, limit } = this.#rules;
    const bytes = this.#bytesAt(this.base.height);
    const target = bytes && targetOfBits(bitsOf(bytes));
    if (easingMax === null || !target) return limit;
    return target * easingMax;
  }

  /** Cuts the lower file where a header is not the one that the one above it names. */
  async #checkBelow(): Promise<void> {
    let expected = unprinted(this.base.hash);
    await eachOf(this.#below, (header, index) => {
      if (!sha256d(header).equals(expected)) {
        this.#below.cut(index);
        return false;
      }
      expected = Buffer.from(previousOf(header));
      return true;
    });
  }

  /** Cuts the upper file where a header does not follow the one before, or the last where it lacks its work. */
  async #checkAbove(): Promise<void> {
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
    // Nothing links to the last one: its work shows that it is whole.
    const { count } = this.#above;
    if (count === 0) return;
    const last = this.#above.read(count - 1);
    if (await hasWork(this.#rules, last)) return;
    this.#work -= workOf(last);
    this.#tipHash = Buffer.from(previousOf(last));
    this.#above.cut(count - 1);
  }
}

const nth = (headers: Buffer, index: number): Buffer =>
  headers.subarray(index * HEADER_BYTES, (index + 1) * HEADER_BYTES);

function wholeHeaders(bytes: Uint8Array, from: number): Buffer {
  const count = bytes.length / HEADER_BYTES;
  if (!Number.isInteger(count) || count === 0 || count > HEADERS_PER_CALL_MAX) {
    throw new HeaderRejected('length', from, `${bytes.length} bytes are not 1 to ${HEADERS_PER_CALL_MAX} headers`);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** The work that verified headers stand for. */
function workOf(headers: Buffer): bigint {
  let work = 0n;
  for (let at = 0; at < headers.length; at += HEADER_BYTES) {
    work += workOfTarget(targetOfBits(bitsOf(headers.subarray(at, at + HEADER_BYTES))) ?? 0n);
  }
  return work;
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

/** Looks at every header of a file in turn, in short slices, until `look` says stop. */
async function eachOf(file: HeaderFile, look: (header: Buffer, index: number) => boolean): Promise<void> {
  const pause = slices();
  for (let from = 0; from < file.count; from += CHUNK_HEADERS) {
    const count = Math.min(CHUNK_HEADERS, file.count - from);
    const chunk = file.read(from, count);
    for (let index = 0; index < count; index++) if (!look(nth(chunk, index), from + index)) return;
    const rest = pause();
    if (rest) await rest;
  }
}
