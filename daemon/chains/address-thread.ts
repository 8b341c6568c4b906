/**
 * Derives addresses in a thread of its own, which ends soon after there is nothing to derive: it has a heap of its own. An address
 * takes as long as the rest of a payment's request.
 *
 * Invariant: an index is derived in a chunk of fixed bounds, and a chunk that is under way or was used lately is not derived again.
 * So callers whose ranges overlap share the work.
 */
import { Worker } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { DerivedAddress } from '../domain/chain.ts';
import { assert, Unavailable } from '../domain/errors.ts';
import { MS_PER_DAY } from '../domain/time.ts';
import { entryFile } from '../kit/program.ts';
import type { AddressRange, Derived, Task } from './derive-thread.ts';
import { INDEX_MAX } from './hd.ts';

/** The thread answers after so many: about 10 ms. */
const CHUNK = 50;
const CHUNKS_KEPT_MAX = 20;
const IDLE_MS = 2_000;
const HEAP_MB_MAX = 64;
const RETRY_SECONDS = 5;
const TELL_EVERY_MS = MS_PER_DAY;

/** `since`: milliseconds since 1970. */
type Trouble = { since: number; reason: string };

type Waiting = { resolve: (addresses: DerivedAddress[]) => void; reject: (error: Error) => void };

export class AddressThread {
  readonly #chunks = new LRUCache<string, Promise<DerivedAddress[]>>({ max: CHUNKS_KEPT_MAX });
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #no = 0;
  #trouble: Trouble | null = null;
  #toldAt = Number.NEGATIVE_INFINITY;
  #stopped = false;

  /** The addresses of a range, as `deriveAddress` has them. Rejects if the thread ended, and for what cannot be derived. */
  async derive(range: AddressRange): Promise<DerivedAddress[]> {
    const { from, count } = range;
    assert(from >= 0 && from + count - 1 <= INDEX_MAX, 'indices are from 0 to 2^31 - 1');
    const first = from - (from % CHUNK);
    const chunks: Promise<DerivedAddress[]>[] = [];
    for (let at = first; at < from + count; at += CHUNK) chunks.push(this.#chunk(range, at));
    // whoever fills a pool wants the next ones once these are stored
    const next = first + chunks.length * CHUNK;
    if (chunks.length > 1 && next <= INDEX_MAX) this.#chunk(range, next);
    return (await Promise.all(chunks)).flat().slice(from - first, from - first + count);
  }

  /** Why addresses are derived elsewhere, from the first failure until a range is derived here again; null while that works. */
  get trouble(): Trouble | null {
    return this.#trouble;
  }

  /** Notes that a range could not be derived. True if that is to be told: once a day, and not of a thread that was stopped. `now`: milliseconds since 1970. */
  noteFailure(reason: string, now: number): boolean {
    if (this.#stopped) return false;
    this.#trouble = { since: this.#trouble?.since ?? now, reason };
    // also after a clock that was ahead
    if (Math.abs(now - this.#toldAt) < TELL_EVERY_MS) return false;
    this.#toldAt = now;
    return true;
  }

  noteSuccess(): void {
    this.#trouble = null;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#rest();
  }

  /** Ends the thread; the next range starts another one. */
  async #rest(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#lose(worker);
    await worker?.terminate();
  }

  #chunk({ chain, network, key, branch }: AddressRange, from: number): Promise<DerivedAddress[]> {
    const name = JSON.stringify([chain, network, key, branch, from]);
    const known = this.#chunks.get(name);
    if (known) return known;
    const count = Math.min(CHUNK, INDEX_MAX + 1 - from);
    const chunk = this.#ask({ chain, network, key, branch, from, count });
    this.#chunks.set(name, chunk);
    chunk.catch(() => this.#chunks.delete(name));
    return chunk;
  }

  #ask(range: AddressRange): Promise<DerivedAddress[]> {
    if (this.#idle) clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    const no = this.#no++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(no, { resolve, reject });
      this.#worker?.postMessage({ no, ...range } satisfies Task);
    });
  }

  #start(): Worker {
    const worker = new Worker(entryFile('address-thread'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.unref();
    worker.on('message', (derived: Derived) => this.#finish(derived));
    worker.on('error', ({ message }) => this.#lose(worker, message));
    worker.on('exit', () => this.#lose(worker));
    return worker;
  }

  #finish(derived: Derived): void {
    const waiting = this.#waiting.get(derived.no);
    this.#waiting.delete(derived.no);
    if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.#rest(), IDLE_MS).unref();
    if ('addresses' in derived) waiting?.resolve(derived.addresses);
    else waiting?.reject(new Error(derived.error));
  }

  #lose(worker: Worker | null, why = 'the thread that derives addresses ended'): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Unavailable(why, RETRY_SECONDS));
  }
}
