/**
 * The database of one data directory: one connection, one writer.
 *
 * Invariants. What `write` has answered survives a power cut (WAL, synchronous=FULL). A write is one synchronous
 * function, so nothing interleaves with it. Writes that arrive in the same turn of the event loop share a transaction
 * and are answered after its commit; one that throws is undone alone, for which its group may be run a second time: so a
 * write changes nothing but through `tx`, and caches in `afterCommit` only.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Rejected, Unavailable } from '../domain/errors.ts';
import { migrate } from './migrations.ts';
import type { Statement } from './statement.ts';

/** Reads. Inside a write they see what it has done so far. */
export interface Reader {
  get<P, R>(statement: Statement<P, R>, parameters: P): R | undefined;
  all<P, R>(statement: Statement<P, R>, parameters: P): R[];
}

/** What a write function is given. */
export interface Tx extends Reader {
  /** Runs a statement and returns how many rows it changed, and the id of the last row that it inserted. */
  run<P, R>(statement: Statement<P, R>, parameters: P): { changes: number; id: number };
  /** Calls back once the transaction is on the disk; never if it is undone. */
  afterCommit(callback: () => void): void;
}

type Job = {
  work: (tx: Tx) => unknown;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

type Outcome = {
  job: Job;
  value?: unknown;
  error?: unknown;
  failed: boolean;
  changed: boolean;
  callbacks: (() => void)[];
};

export const WRITES_QUEUED_MAX = 20_000;
export const WRITES_PER_COMMIT_MAX = 2_000;
/** A checkpoint holds the writer for as long as its pages take: a rare one of 64 MB keeps out of the 99th percentile. */
const WAL_PAGES_PER_CHECKPOINT = 16_000;
const CACHE_KIB = 16_384;
const STORE_RETRY_SECONDS = 5;

export class Store implements Reader {
  readonly #db: Database.Database;
  readonly #lock: Database.Database | null;
  readonly #prepared = new Map<Statement<never, unknown>, Database.Statement>();
  #queue: Job[] = [];
  #flushing = false;
  #closed = false;
  /** Called after every commit with the number of writes in it; the crash tests stop the process here. */
  onCommit: (() => void) | null = null;

  private constructor(db: Database.Database, lock: Database.Database | null) {
    this.#db = db;
    this.#lock = lock;
  }

  /**
   * Opens (or makes) the database of a data directory and brings its schema up to date.
   * Throws `Rejected('store.locked')` when another process has it open.
   */
  static async open(dataDir: string): Promise<Store> {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const lock = takeLock(join(dataDir, 'lock'));
    let db: Database.Database | undefined;
    try {
      db = new Database(join(dataDir, 'countinghouse.db'));
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = FULL');
      db.pragma('foreign_keys = OFF'); // no cascades: rows are never deleted but by the sandbox's own pruning
      db.pragma(`cache_size = -${CACHE_KIB}`);
      db.pragma(`wal_autocheckpoint = ${WAL_PAGES_PER_CHECKPOINT}`);
      migrate(db);
      return new Store(db, lock);
    } catch (error) {
      db?.close();
      lock.close();
      throw error;
    }
  }

  /** A database in memory, for tests. */
  static async inMemory(): Promise<Store> {
    const db = new Database(':memory:');
    migrate(db);
    return new Store(db, null);
  }

  get<P, R>(statement: Statement<P, R>, parameters: P): R | undefined {
    return this.#prepare(statement).get(...statement.bind(parameters)) as R | undefined;
  }

  all<P, R>(statement: Statement<P, R>, parameters: P): R[] {
    return this.#prepare(statement).all(...statement.bind(parameters)) as R[];
  }

  /**
   * Runs `work` inside the next transaction and answers once that is on the disk.
   * Rejects with what `work` threw, or with `Unavailable` when the disk refused (full, read-only, failing): then none
   * of the writes of that transaction happened.
   */
  write<T>(work: (tx: Tx) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new Unavailable('The service is stopping', STORE_RETRY_SECONDS));
    if (this.#queue.length >= WRITES_QUEUED_MAX) {
      return Promise.reject(new Unavailable('Too many writes are waiting', 1));
    }
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ work, resolve: resolve as (value: unknown) => void, reject });
      if (!this.#flushing) {
        this.#flushing = true;
        setImmediate(() => this.#flush());
      }
    });
  }

  /** Waits for the writes under way, folds the log into the database and closes it. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    while (this.#queue.length > 0) this.#flush();
    this.#db.pragma('wal_checkpoint(TRUNCATE)');
    this.#db.close();
    this.#lock?.close();
  }

  #prepare<P, R>(statement: Statement<P, R>): Database.Statement {
    const key = statement as unknown as Statement<never, unknown>;
    let prepared = this.#prepared.get(key);
    if (!prepared) {
      prepared = this.#db.prepare(statement.sql);
      this.#prepared.set(key, prepared);
    }
    return prepared;
  }

  #flush(): void {
    const jobs = this.#queue.splice(0, WRITES_PER_COMMIT_MAX);
    if (jobs.length === 0) {
      this.#flushing = false;
      return;
    }
    let outcomes: Outcome[];
    try {
      outcomes = this.#runTogether(jobs) ?? this.#runApart(jobs);
      this.#exec('COMMIT');
    } catch (error) {
      if (this.#db.inTransaction) this.#exec('ROLLBACK');
      const unavailable = new Unavailable('The database did not take the write', STORE_RETRY_SECONDS);
      unavailable.cause = error;
      for (const job of jobs) job.reject(unavailable);
      this.#continue();
      return;
    }
    this.onCommit?.();
    for (const { job, value, error, failed, callbacks } of outcomes) {
      if (failed) {
        job.reject(error);
        continue;
      }
      for (const callback of callbacks) callback();
      job.resolve(value);
    }
    this.#continue();
  }

  /**
   * A group without savepoints, which cost as much as a statement each: a write that throws before it has changed
   * anything needs none. Null, and nothing done, when one throws later than that.
   */
  #runTogether(jobs: readonly Job[]): Outcome[] | null {
    this.#exec('BEGIN IMMEDIATE');
    const outcomes: Outcome[] = [];
    for (const job of jobs) {
      const outcome = this.#runJob(job);
      if (outcome.failed && outcome.changed) {
        this.#exec('ROLLBACK');
        return null;
      }
      outcomes.push(outcome);
    }
    return outcomes;
  }

  /** The same group again, each write under a savepoint, so that one is undone alone. */
  #runApart(jobs: readonly Job[]): Outcome[] {
    this.#exec('BEGIN IMMEDIATE');
    return jobs.map((job) => {
      this.#exec('SAVEPOINT job');
      const outcome = this.#runJob(job);
      if (outcome.failed) this.#exec('ROLLBACK TO job');
      this.#exec('RELEASE job');
      return outcome;
    });
  }

  /** One write. Throws when an error ended the transaction itself: then it ends the whole group. */
  #runJob(job: Job): Outcome {
    const callbacks: (() => void)[] = [];
    let changed = false;
    const tx: Tx = {
      get: (statement, parameters) => this.get(statement, parameters),
      all: (statement, parameters) => this.all(statement, parameters),
      run: (statement, parameters) => {
        this.#needTransaction();
        changed = true;
        const { changes, lastInsertRowid } = this.#prepare(statement).run(...statement.bind(parameters));
        return { changes, id: Number(lastInsertRowid) };
      },
      afterCommit: (callback) => callbacks.push(callback),
    };
    try {
      const value = job.work(tx);
      if (value instanceof Promise) throw new Error('assertion failed: a write is synchronous');
      this.#needTransaction();
      return { job, value, failed: false, changed, callbacks };
    } catch (error) {
      // SQLITE_FULL and SQLITE_IOERR end the transaction: what follows would commit alone
      if (!this.#db.inTransaction || isDiskError(error)) throw error;
      return { job, error, failed: true, changed, callbacks: [] };
    }
  }

  /** SQLITE_FULL and SQLITE_IOERR end the transaction: what runs after one, because a write caught it, would commit alone. */
  #needTransaction(): void {
    if (!this.#db.inTransaction) throw new Error('the disk ended the transaction');
  }

  #continue(): void {
    if (this.#queue.length > 0) setImmediate(() => this.#flush());
    else this.#flushing = false;
  }

  readonly #control = new Map<string, Database.Statement>();

  #exec(sql: string): void {
    let prepared = this.#control.get(sql);
    if (!prepared) {
      prepared = this.#db.prepare(sql);
      this.#control.set(sql, prepared);
    }
    prepared.run();
  }
}

function isDiskError(error: unknown): boolean {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^SQLITE_(FULL|IOERR|READONLY|CORRUPT|NOMEM|BUSY|PERM|CANTOPEN)/.test(code);
}

/**
 * An exclusive transaction on a small file of its own: the operating system releases it however the process ends, and
 * read-only connections to the real database stay possible.
 */
function takeLock(file: string): Database.Database {
  const lock = new Database(file, { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
    return lock;
  } catch (error) {
    lock.close();
    if ((error as { code?: string }).code !== 'SQLITE_BUSY') throw error;
    throw new Rejected('store.locked', 'Another Countinghouse is running on this data directory');
  }
}
