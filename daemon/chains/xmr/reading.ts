/**
 * Where the bytes of blocks are read: a few small blocks here, in short turns, because a thread costs memory; many in a thread, which
 * ends when there is nothing to read.
 */
import { Worker } from 'node:worker_threads';
import { Malformed, Unavailable } from '../../domain/errors.ts';
import { inTurns, slices } from '../slices.ts';
import { type ReadBlocks, readBlocks } from './read.ts';
import type { Done, Task } from './read-thread.ts';
import type { Receiver } from './receive.ts';

/** Up to here no turn lasts long, whatever is in the bytes. */
const HERE_BYTES_MAX = 100_000;
const HERE_BLOCKS_MAX = 8;
const IDLE_MS = 30_000;
const HEAP_MB_MAX = 256;
const RETRY_SECONDS = 5;

type Waiting = { resolve: (read: ReadBlocks) => void; reject: (error: Error) => void };

export class Reading {
  readonly #hasThread: boolean;
  #worker: Worker | null = null;
  #idle: NodeJS.Timeout | null = null;
  #no = 0;
  readonly #waiting = new Map<number, Waiting>();

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
    this.#worker ??= this.#start();
    const no = this.#no++;
    const accounts = receivers.map(({ account }) => account);
    const task: Task = { no, body, from, count, accounts };
    const owned = body.byteLength === body.buffer.byteLength && body.buffer instanceof ArrayBuffer;
    return new Promise((resolve, reject) => {
      this.#waiting.set(no, { resolve, reject });
      this.#worker?.postMessage(task, owned ? [body.buffer as ArrayBuffer] : []);
    });
  }

  async stop(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#lose();
    await worker?.terminate();
  }

  #start(): Worker {
    // the built file is JavaScript
    const name = import.meta.url.endsWith('.ts') ? './read-thread.ts' : './read-thread.js';
    const worker = new Worker(new URL(name, import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.unref();
    worker.on('message', (done: Done) => this.#finish(done));
    const lost = (): void => {
      if (this.#worker === worker) this.#lose();
    };
    worker.on('error', lost);
    worker.on('exit', lost);
    return worker;
  }

  #finish(done: Done): void {
    const waiting = this.#waiting.get(done.no);
    this.#waiting.delete(done.no);
    if (this.#waiting.size === 0) {
      this.#idle = setTimeout(() => void this.stop(), IDLE_MS);
      this.#idle.unref();
    }
    if ('read' in done) waiting?.resolve(done.read);
    else if ('malformed' in done) waiting?.reject(malformed(done.malformed));
    else waiting?.reject(new Error(done.error));
  }

  #lose(): void {
    this.#worker = null;
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
