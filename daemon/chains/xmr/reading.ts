/**
 * Where the bytes of blocks are read: a few small blocks here, in short turns, because a thread costs memory; many in
 * threads, which end when there is nothing to read.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Malformed, Unavailable } from '../../domain/errors.ts';
import { entryFile } from '../../kit/program.ts';
import { inTurns, slices } from '../slices.ts';
import { type ReadBlocks, readBlocks } from './read.ts';
import type { Task, TaskResult } from './read-thread.ts';
import type { Receiver } from './receive.ts';

/** Up to here no turn lasts long, whatever is in the bytes. */
const HERE_BYTES_MAX = 100_000;
const HERE_BLOCKS_MAX = 8;
const IDLE_MS = 30_000;
const HEAP_MB_MAX = 256;
/** More than two answers are seldom there at one time (`stream.ts`), and the machine has other work. */
const THREADS_MAX = Math.min(2, availableParallelism());
const RETRY_SECONDS = 5;

type Waiting = { resolve: (read: ReadBlocks) => void; reject: (error: Error) => void };

export class Reading {
  readonly #hasThread: boolean;
  readonly #threads = new Set<Thread>();
  #idle: NodeJS.Timeout | null = null;

  /** `hasThread`: false: everything is read here. */
  constructor(hasThread: boolean) {
    this.#hasThread = hasThread;
  }

  /** See `readBlocks`. The bytes cannot be used afterwards. Throws `Malformed`, and `Unavailable` if the thread ended. */
  read(body: Uint8Array, from: number, count: number, receivers: readonly Receiver[]): Promise<ReadBlocks> {
    if (!this.#hasThread || (body.length <= HERE_BYTES_MAX && count <= HERE_BLOCKS_MAX)) {
      return inTurns(readBlocks(body, from, count, receivers), slices());
    }
    if (this.#idle) clearTimeout(this.#idle);
    const accounts = receivers.map(({ account }) => account);
    return this.#thread().read({ body, from, count, accounts });
  }

  async stop(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const threads = [...this.#threads];
    this.#threads.clear();
    await Promise.all(threads.map((one) => one.stop()));
  }

  /** The thread that has least to do: a further one while all have something, and there may be more. */
  #thread(): Thread {
    const [least] = [...this.#threads].toSorted((a, b) => a.count - b.count);
    if (least && (least.count === 0 || this.#threads.size >= THREADS_MAX)) return least;
    const thread: Thread = new Thread(
      () => this.#rest(),
      () => this.#threads.delete(thread),
    );
    this.#threads.add(thread);
    return thread;
  }

  #rest(): void {
    if ([...this.#threads].some(({ count }) => count > 0)) return;
    if (this.#idle) clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.stop(), IDLE_MS);
    this.#idle.unref();
  }
}

/** One thread, and what it is to read. */
class Thread {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onRead: () => void;
  #no = 0;

  /** `onRead`: after each answer. `onEnd`: it reads nothing any more. */
  constructor(onRead: () => void, onEnd: () => void) {
    this.#onRead = onRead;
    this.#worker = new Worker(entryFile('block-thread'), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    this.#worker.unref();
    this.#worker.on('message', (done: TaskResult) => this.#finish(done));
    const lost = (): void => {
      onEnd();
      this.#lose();
    };
    this.#worker.on('error', lost);
    this.#worker.on('exit', lost);
  }

  get count(): number {
    return this.#waiting.size;
  }

  read(asked: Omit<Task, 'no'>): Promise<ReadBlocks> {
    const no = this.#no++;
    const { body } = asked;
    const owned = body.byteLength === body.buffer.byteLength && body.buffer instanceof ArrayBuffer;
    return new Promise((resolve, reject) => {
      this.#waiting.set(no, { resolve, reject });
      this.#worker.postMessage({ no, ...asked } satisfies Task, owned ? [body.buffer as ArrayBuffer] : []);
    });
  }

  async stop(): Promise<void> {
    this.#lose();
    await this.#worker.terminate();
  }

  #finish(done: TaskResult): void {
    const waiting = this.#waiting.get(done.no);
    this.#waiting.delete(done.no);
    this.#onRead();
    if ('read' in done) waiting?.resolve(done.read);
    else if ('malformed' in done) waiting?.reject(malformed(done.malformed));
    else waiting?.reject(new Error(done.error));
  }

  #lose(): void {
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(new Unavailable('the thread that reads blocks ended', RETRY_SECONDS));
  }
}

/** The error of the thread, with its own words. */
function malformed(message: string): Malformed {
  const error = new Malformed('');
  error.message = message;
  return error;
}
