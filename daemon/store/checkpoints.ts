/**
 * Folds the log of a large database into it on a separate thread. A checkpoint of 64 MB takes a tenth of a second of
 * processor time, during which the event loop would answer nobody. SQLite lets another connection do it beside the writer.
 *
 * SQLite begins the log anew when a write finds all of it in the database. So the thread folds the last part while commits
 * wait: the event loop is free meanwhile. A reader keeps what was written after its beginning from being folded, for as
 * long as it reads; then the log grows.
 *
 * The writer folds the log itself only if the thread has ended by an error.
 */
import { statSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type Database from 'better-sqlite3';
import { entryFile } from '../kit/program.ts';
import type { Folded } from './checkpoint-thread.ts';
import { isDiskError } from './disk-errors.ts';

/** The log's size at which it is folded. */
export const LOG_BYTES_MAX = 64_000_000;
/** A thread without work is ended after this time, because it has its own heap. */
const IDLE_MS_MAX = 60_000;
const HEAP_MB_MAX = 32;
const FRAME_BYTES = 4_120;
/** Commits wait for the folding of so much, some 10 ms of work; after so many rounds, of whatever is left. */
const FRAMES_LEFT_MAX = 2_000;
const ROUNDS_MAX = 5;
/** Commits wait no longer for a thread that gets no processor time or no disk. */
const WAIT_MS_MAX = 5_000;
/** After a folding that was not complete. */
const PAUSE_MS = 1_000;

/** Why the log cannot begin anew (`error` null: somebody reads it), and since when, by `performance.now()`. */
type Stuck = { since: number; error: string | null };

export class Checkpoints {
  readonly #db: Database.Database;
  readonly #logBytesMax: number;
  #worker: Worker | null = null;
  /** `last`: the thread folds the last part. */
  #state: 'idle' | 'beside' | 'last' = 'idle';
  #rounds = 0;
  #wait: NodeJS.Timeout | null = null;
  #idle: NodeJS.Timeout | null = null;
  #notBefore = 0;
  #stuck: Stuck | null = null;
  /** Called when commits need not wait any more. */
  onRelease: (() => void) | null = null;

  constructor(db: Database.Database, { logBytesMax = LOG_BYTES_MAX }: { logBytesMax?: number } = {}) {
    this.#db = db;
    this.#logBytesMax = logBytesMax;
  }

  /** Whether commits are to wait until `onRelease` is called. */
  get holdsCommits(): boolean {
    return this.#wait !== null;
  }

  /** Null while the log can begin anew, as far as is known. */
  get stuck(): Readonly<Stuck> | null {
    return this.#stuck;
  }

  logBytes(): number {
    return statSync(`${this.#db.name}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** To be called after a commit, and now and then. Costs a system call. */
  tend(): void {
    if (this.#state !== 'idle') return;
    if (this.logBytes() < this.#logBytesMax) {
      this.#stuck = null;
      return;
    }
    if (performance.now() < this.#notBefore) return;
    if (this.#idle) clearTimeout(this.#idle);
    this.#rounds = 0;
    this.#fold('beside');
  }

  async stop(): Promise<void> {
    if (this.#idle) clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = null;
    this.#rest();
    await worker?.terminate();
  }

  #fold(state: 'beside' | 'last'): void {
    this.#state = state;
    if (state === 'last') this.#wait = setTimeout(() => this.#release(), WAIT_MS_MAX).unref();
    this.#worker ??= this.#start();
    this.#worker.postMessage('fold');
  }

  #start(): Worker {
    const worker = new Worker(entryFile('checkpoint-thread'), {
      workerData: this.#db.name,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB_MAX },
    });
    worker.unref();
    worker.on('message', (folded: Folded) => this.#finish(folded));
    worker.on('error', () => this.#lose(worker));
    worker.on('exit', () => this.#lose(worker));
    return worker;
  }

  #finish({ log, checkpointed, error }: Folded): void {
    if (!this.#worker) return;
    const isWhole = error === null && checkpointed === log;
    const left = this.logBytes() / FRAME_BYTES - checkpointed;
    if (isWhole && left >= 1 && !this.holdsCommits) {
      this.#rounds++;
      this.#fold(left > FRAMES_LEFT_MAX && this.#rounds < ROUNDS_MAX ? 'beside' : 'last');
      return;
    }
    this.#stuck = isWhole ? null : { since: this.#stuck?.since ?? performance.now(), error };
    this.#rest();
    this.#idle = setTimeout(() => void this.stop(), IDLE_MS_MAX).unref();
  }

  #lose(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    try {
      this.#db.pragma('wal_checkpoint(PASSIVE)');
    } catch (error) {
      if (!isDiskError(error)) throw error;
    }
    this.#rest();
  }

  #rest(): void {
    this.#state = 'idle';
    this.#notBefore = performance.now() + PAUSE_MS;
    this.#release();
  }

  #release(): void {
    if (this.#wait === null) return;
    clearTimeout(this.#wait);
    this.#wait = null;
    this.onRelease?.();
  }
}
