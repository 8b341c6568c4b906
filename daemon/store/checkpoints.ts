/**
 * Folds the log of a large database into it on a thread of its own. A checkpoint of 64 MB takes a tenth of a second of
 * processor time, during which the event loop would answer nobody. SQLite lets another connection do it beside the writer;
 * only the pages that were written meanwhile are left for the writer.
 *
 * If the thread fails, SQLite's own limit (`wal_autocheckpoint`) makes the writer fold the log itself.
 */
import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { isDiskError } from './disk-errors.ts';

/** The log's size at which it is folded. */
const LOG_BYTES_MAX = 64_000_000;
/** A thread without work is ended after this time: it has a heap of its own. */
const IDLE_MS_MAX = 60_000;
const HEAP_MB_MAX = 32;
const FRAME_BYTES = 4_120;
/** So much is left for the writer, some 10 ms of work; after so many rounds it is left all the same. */
const FRAMES_LEFT_MAX = 2_000;
const ROUNDS_MAX = 5;

export class Checkpoints {
  readonly #db: Database.Database;
  #worker: Worker | null = null;
  #running = false;
  #rounds = 0;
  #idle: NodeJS.Timeout | null = null;

  constructor(db: Database.Database) {
    this.#db = db;
  }

  /** To be called after a commit. Costs a system call. */
  tend(): void {
    if (this.#running) return;
    if (this.#logBytes() < LOG_BYTES_MAX) return;
    this.#running = true;
    this.#rounds = 0;
    if (this.#idle) clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    this.#worker.postMessage('fold');
  }

  #logBytes(): number {
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Waits for a running checkpoint. */
  async stop(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    await worker?.terminate();
  }

  #start(): Worker {
    // the built file is JavaScript
    const name = import.meta.url.endsWith('.ts') ? './checkpoint-thread.ts' : './checkpoint-thread.js';
    const worker = new Worker(new URL(name, import.meta.url), {
      workerData: this.#db.name,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.unref();
    worker.on('message', (folded: number) => this.#finish(folded));
    worker.on('error', () => this.#lose(worker));
    worker.on('exit', () => this.#lose(worker));
    return worker;
  }

  /**
   * Folds what was written meanwhile; the next write begins the log anew. `folded`: pages of the log that are in the
   * database.
   */
  #finish(folded: number): void {
    if (!this.#worker) return;
    this.#rounds++;
    const left = this.#logBytes() / FRAME_BYTES - folded;
    if (left > FRAMES_LEFT_MAX && this.#rounds < ROUNDS_MAX) {
      this.#worker.postMessage('fold');
      return;
    }
    try {
      this.#db.pragma('wal_checkpoint(PASSIVE)');
    } catch (error) {
      if (!isDiskError(error)) throw error;
    }
    this.#running = false;
    this.#idle = setTimeout(() => void this.stop(), IDLE_MS_MAX).unref();
  }

  #lose(worker: Worker): void {
    if (this.#worker !== null && this.#worker !== worker) return;
    this.#worker = null;
    this.#running = false;
  }
}
