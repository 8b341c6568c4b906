/**
 * The chain of headers: extended upwards from a checkpoint by verified work, and downwards by hash if a restore needs
 * older ones. A server's headers change it only if they are valid and have more work than the known ones.
 *
 * Memory use does not grow with it. On disk it takes 80 bytes per header: about 4 MB a year for Bitcoin and Bitcoin
 * Cash, 17 MB for Litecoin; the whole chain, if a restore needs it, is 80 MB, 80 MB and 260 MB (2026).
 */
import { mkdir } from 'node:fs/promises';
import type { Network } from '../../../../domain/assets.ts';
import type { BlockId } from '../../../../domain/chain.ts';
import { assert } from '../../../../domain/errors.ts';
import { reversedHex, sha256d } from '../../../../kit/bytes.ts';
import { slices } from '../../../slices.ts';
import type { UtxoChain } from '../../params.ts';
import { checkpointOf } from './checkpoints.ts';
import { bitsOf, HEADER_BYTES, previousOf, readHeader, timeOf } from './header.ts';
import { type HeaderRules, rulesOf } from './rules.ts';
import { FUTURE_SECONDS_MAX, MEDIAN_BLOCKS, medianOf, verifyRun } from './run.ts';
import { HeaderStore, nthHeader, workOf } from './store.ts';
import { targetOfBits } from './target.ts';
import {
  type Connected,
  HEADERS_PER_CALL_MAX,
  HEADERS_PER_REQUEST,
  type Header,
  type HeaderRange,
  HeaderRejected,
  type Headers,
  UNVERIFIED,
  type Verified,
} from './types.ts';

/** By how much a run is extended each time that it does not connect. */
const WALK_BACK_FACTOR = 2;

export type HeaderChainOptions = {
  chain: UtxoChain;
  network: Network;
  /** The folder of the files. It is created if it is missing. */
  folder: string;
  /** The first block, if there are several public test networks. */
  genesis?: string;
  /** Replaces the rules of the chain. */
  rules?: HeaderRules;
  /** Replaces the built-in checkpoint. */
  checkpoint?: BlockId;
  /** The true time, milliseconds since 1970. */
  now?: () => number;
};

export class HeaderChain implements Headers {
  readonly #store: HeaderStore;
  readonly #rules: HeaderRules;
  readonly #now: () => number;
  /** The end of the last requested change. */
  #changes: Promise<unknown> = Promise.resolve();

  private constructor(store: HeaderStore, rules: HeaderRules, now: () => number) {
    this.#store = store;
    this.#rules = rules;
    this.#now = now;
  }

  /** Opens the chain. Damaged parts of the files are dropped, to be fetched again. Throws errors of the file system. */
  static async open(options: HeaderChainOptions): Promise<HeaderChain> {
    const { chain, network, folder, genesis, now = Date.now } = options;
    const rules = options.rules ?? rulesOf(chain, network, genesis);
    assert(rules, `${chain} has no chain of headers on ${network}`);
    const base = options.checkpoint ?? checkpointOf(rules);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return new HeaderChain(await HeaderStore.open(folder, `${chain}-${network}`, base, rules), rules, now);
  }

  get base(): BlockId {
    return this.#store.base;
  }

  get tip(): BlockId {
    return { height: this.#store.tipHeight, hash: reversedHex(this.#store.tipHash) };
  }

  get lowest(): number {
    return this.#store.lowest;
  }

  get work(): bigint {
    return this.#store.work;
  }

  /** The lowest header that the difficulty rules need for the first one above the base. */
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
      const all = wholeHeaders(bytes, from);
      const count = Math.max(0, Math.min(all.length / HEADER_BYTES, this.lowest - from));
      if (from < 0 || (count > 0 && from + count !== this.lowest)) {
        throw new HeaderRejected('length', from, 'not what was asked for');
      }
      const headers = all.subarray(0, count * HEADER_BYTES);
      const pause = slices();
      let expected = this.#store.hashBelow;
      const descending = Buffer.alloc(headers.length);
      for (let index = count - 1; index >= 0; index--) {
        const header = nthHeader(headers, index);
        if (!sha256d(header).equals(expected)) {
          throw new HeaderRejected('link', from + index, 'is not the one that the next one names');
        }
        header.copy(descending, (count - 1 - index) * HEADER_BYTES);
        expected = previousOf(header);
        const rest = pause();
        if (rest) await rest;
      }
      this.#store.appendBelow(descending);
    });
  }

  connect(bytes: Uint8Array, from: number, verified: Verified = UNVERIFIED): Promise<Connected> {
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
      const parent = this.#store.hashAt(start - 1);
      assert(parent, 'what is above the base is held');
      const fresh = headers.subarray(known * HEADER_BYTES);
      if (known === 0 && !previousOf(fresh).equals(parent)) return this.#apart(from, count);
      // the chain has taken the beginning of the branch since the rest was verified
      return this.#connectAbove(fresh, start, parent, known === 0 ? verified : UNVERIFIED);
    });
  }

  at(height: number): Header | null {
    const bytes = this.#store.bytesAt(height);
    return bytes ? readHeader(bytes, height) : null;
  }

  hashAt(height: number): string | null {
    const hash = this.#store.hashAt(height);
    return hash ? reversedHex(hash) : null;
  }

  medianTimeSeconds(height: number): number | null {
    const times: number[] = [];
    for (let at = height; at >= 0 && times.length < MEDIAN_BLOCKS; at--) {
      const bytes = this.#store.bytesAt(at);
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

  close(): Promise<void> {
    return this.#exclusive(async () => this.#store.close());
  }

  /** Runs a change after those requested before it, whatever their results. */
  #exclusive<T>(change: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(change);
    this.#changes = done.catch(() => {});
    return done;
  }

  /** How many of the headers, from the first on, are on the chain. Those below the lowest held one count as known. */
  async #knownOf(headers: Buffer, from: number): Promise<number> {
    const pause = slices();
    const count = headers.length / HEADER_BYTES;
    for (let index = 0; index < count; index++) {
      if (from + index >= this.lowest) {
        const held = this.#store.bytesAt(from + index);
        if (!held?.equals(nthHeader(headers, index))) return index;
      }
      const rest = pause();
      if (rest) await rest;
    }
    return count;
  }

  /** The run does not follow the block below it; it must start lower. */
  #apart(from: number, count: number): Connected {
    const lowestStart = this.base.height + 1;
    if (from === lowestStart) throw new HeaderRejected('checkpoint', from, `does not follow ${this.base.hash}`);
    if (count >= HEADERS_PER_CALL_MAX) throw new HeaderRejected('deep', from, `parts below all ${count} headers`);
    const more = Math.min(WALK_BACK_FACTOR * count, HEADERS_PER_CALL_MAX - count);
    return { kind: 'apart', retryFrom: Math.max(lowestStart, from - more) };
  }

  /** Verifies headers that follow the chain's block at `start - 1`. The chain switches to them if they have more work. */
  async #connectAbove(fresh: Buffer, start: number, parent: Buffer, verified: Verified): Promise<Connected> {
    const old = this.tip.height - start + 1;
    if (old > HEADERS_PER_CALL_MAX) throw new HeaderRejected('deep', start, `parts ${old} blocks below the tip`);
    const work = verified.work + (await this.#workOfRest(fresh, start, parent, verified.count));
    const leaving = this.#store.readAbove(start - 1);
    const left = await this.#leave(leaving, start);
    if (work <= left.work) {
      return { kind: 'weaker', forkHeight: start - 1, work, missingWork: left.work - work + 1n };
    }
    this.#store.replaceAbove(start - 1, fresh, work, left.work);
    return { kind: 'extended', tip: this.tip, added: fresh.length / HEADER_BYTES, orphaned: left.blocks };
  }

  /** The work of a run that begins at `start`, without its first `count` headers, which were verified before. */
  #workOfRest(fresh: Buffer, start: number, parent: Buffer, count: number): Promise<bigint> {
    const rest = fresh.subarray(count * HEADER_BYTES);
    if (rest.length === 0) return Promise.resolve(0n);
    return verifyRun({
      rules: this.#rules,
      bytes: rest,
      from: start + count,
      previous: count === 0 ? parent : sha256d(nthHeader(fresh, count - 1)),
      known: (height) => (height < start ? this.#store.bytesAt(height) : nthHeader(fresh, height - start)),
      nowSeconds: Math.floor(this.#now() / 1000),
      easiest: this.#easiest(),
    });
  }

  /** The chain's blocks from `start` on, which the branch would replace, and their work. */
  async #leave(headers: Buffer, start: number): Promise<{ blocks: BlockId[]; work: bigint }> {
    const pause = slices();
    const blocks: BlockId[] = [];
    let work = 0n;
    for (let index = 0; index < headers.length / HEADER_BYTES; index++) {
      const header = nthHeader(headers, index);
      blocks.push({ height: start + index, hash: reversedHex(sha256d(header)) });
      work += workOf(header);
      const rest = pause();
      if (rest) await rest;
    }
    return { blocks, work };
  }

  /** The highest plausible target. */
  #easiest(): bigint {
    const { easingMax, limit } = this.#rules;
    const bytes = this.#store.bytesAt(this.base.height);
    const target = bytes && targetOfBits(bitsOf(bytes));
    return easingMax === null || !target ? limit : target * easingMax;
  }
}

function wholeHeaders(bytes: Uint8Array, from: number): Buffer {
  const count = bytes.length / HEADER_BYTES;
  if (!Number.isInteger(count) || count === 0 || count > HEADERS_PER_CALL_MAX) {
    throw new HeaderRejected('length', from, `${bytes.length} bytes are not 1 to ${HEADERS_PER_CALL_MAX} headers`);
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}
