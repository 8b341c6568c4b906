/**
 * The database of one data directory: one connection, one writer.
 *
 * Invariants. A write that was answered survives a power cut (WAL, synchronous=FULL). A write is one synchronous
 * function, so no other work interleaves with it. Writes of the same turn of the event loop share a transaction, and
 * are answered after its commit. A write that throws is undone alone, for which its group may run a second time. So a
 * write has effects only through `tx`, and updates caches only in `afterCommit`.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { Rejected, Unavailable } from '../domain/errors.ts';
import { Checkpoints, LOG_BYTES_MAX } from './checkpoints.ts';
import { makeDataFolder } from './data-folder.ts';
import { FULL, isDiskError, isFullError, isLockError, isRefusal, type Trouble, troubleOf } from './disk-errors.ts';
import { rememberLately } from './lately.ts';
import { takeLock } from './lock.ts';
import { type MigrationStep, migrate } from './migrations.ts';
import { Reserve } from './reserve.ts';
import { type RowReader, rowReader } from './schema.ts';
import { copyInSteps } from './snapshot.ts';
import type { Statement } from './statement.ts';
import { bringUpToDate, type UpgradeOptions } from './upgrade.ts';

/** Inside a write, reads see its changes. */
export interface Reader {
  get<P, R>(statement: Statement<P, R>, parameters: P): R | undefined;
  all<P, R>(statement: Statement<P, R>, parameters: P): R[];
}

export interface Tx extends Reader {
  /** Runs a statement. Returns the number of changed rows and the id of the last inserted one. */
  run<P, R>(statement: Statement<P, R>, parameters: P): { changes: number; id: number };
  /** Calls back after the commit; never if the transaction is undone. */
  afterCommit(callback: () => void): void;
}

type Prepared = { prepared: Database.Statement; read: RowReader | null };

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
/**
 * The writer folds the log of a small database into it at this number of pages. A checkpoint blocks it in proportion to the
 * changed pages, so a small database gets a small log. That of a large one is folded by a thread (`Checkpoints`).
 */
const LOG_PAGES_MIN = 1_000;
const LOG_PAGES_MAX = 16_000;
const BY_THREAD = 0;
/** The size of the log's file after folding. */
const LOG_BYTES_KEPT = 4_194_304;
const CACHE_KIB = 16_384;
const STORE_RETRY_SECONDS = 5;
/** SQLite waits for a lock by sleeping, which would block the event loop; so it is asked repeatedly instead. */
const BUSY_TIMEOUT_MS = 5;
const BUSY_TIMEOUT_AT_START_MS = 5_000;
const LOCK_RETRY_MS = 25;
/** How long writes wait in total for another process's lock; later ones are refused. */
const LOCK_WAIT_MS_MAX = 10_000;
const LOCK_WAIT_WHILE_STOPPING_MS_MAX = 1_000;
/** A disk that refuses writes commits what changes nothing, so that while it does each transaction changes this. */
const TRIAL = `INSERT OR REPLACE INTO setting (key, value, updated_at) VALUES ('store.trial', hex(randomblob(8)), 0)`;

type StoreHealth = {
  /** Of the disk; null without a reserve. */
  freeBytes: number | null;
  logBytes: number;
  /** Since how many milliseconds the log of a large database cannot begin anew; `error` null: because somebody reads it. */
  logStuck: { ms: number; error: string | null } | null;
  /** Why writes fail, if they do. */
  trouble: Trouble | null;
};

export type StoreOptions = UpgradeOptions & {
  /** The size of the reserve for a full disk; 0, the default: none. */
  reserveBytes?: number;
};

export class Store implements Reader {
  /** The content of an empty database in memory, once one was made. */
  static #empty: Buffer | null = null;
  readonly #db: Database.Database;
  readonly #lock: Database.Database | null;
  readonly #reserve: Reserve | null;
  readonly #prepared = new Map<Statement<never, unknown>, Prepared>();
  readonly #urgent = new AsyncLocalStorage<true>();
  readonly #checkpoints: Checkpoints;
  /** Whether the database is so large that a thread folds its log. */
  #isLarge = false;
  #queue: Job[] = [];
  #flushing = false;
  #closed = false;
  /** Since when another process has held the lock, by `performance.now()`; null if none does. */
  #lockedSince: number | null = null;
  /** Whether only urgent writes are accepted, because the disk is full. */
  #sparing = false;
  #trouble: Trouble | null = null;
  /** Called after every commit with its number of writes. The crash tests stop the process here. */
  onCommit: (() => void) | null = null;
  /** Called when writes start to fail, fail for another reason, or work again (null). */
  onTrouble: ((trouble: Trouble | null) => void) | null = null;

  private constructor(db: Database.Database, lock: Database.Database | null, reserve: Reserve | null) {
    this.#db = db;
    this.#lock = lock;
    this.#reserve = reserve;
    this.#checkpoints = new Checkpoints(db);
    this.#checkpoints.onRelease = () => this.#continue();
  }

  /**
   * Opens or creates the database of a data directory and updates its schema. Throws `Rejected`: `store.locked` if
   * another process has it open, `store.newer`, `store.damaged`, `data_dir`, and `store.disk` if the disk or another
   * program's lock prevents it.
   */
  static async open(dataDir: string, options: StoreOptions = {}): Promise<Store> {
    const { reserveBytes = 0 } = options;
    await makeDataFolder(dataDir);
    let lock: Database.Database | undefined;
    let db: Database.Database | undefined;
    let done = 0;
    const onMigration = (step: MigrationStep): void => {
      done = step.step - 1;
      options.onMigration?.(step);
    };
    try {
      lock = takeLock(dataDir);
      db = new Database(join(dataDir, 'countinghouse.db'), { timeout: BUSY_TIMEOUT_AT_START_MS });
      db.pragma('journal_mode = WAL');
      db.pragma('synchronous = FULL');
      db.pragma('foreign_keys = OFF'); // no cascades: the code that deletes a row deletes its references
      db.pragma(`journal_size_limit = ${LOG_BYTES_KEPT}`);
      await bringUpToDate(db, { ...options, onMigration });
      rememberLately(db);
      db.pragma(`cache_size = -${CACHE_KIB}`);
      db.pragma(`busy_timeout = ${BUSY_TIMEOUT_MS}`);
      const store = new Store(db, lock, reserveBytes > 0 ? new Reserve(dataDir, reserveBytes) : null);
      store.#fitLog();
      // without it the start may still write: the operator's commands need a service that runs
      store.#reserve?.keep();
      return store;
    } catch (error) {
      db?.close();
      lock?.close();
      throw atStart(error, dataDir, done);
    }
  }

  /** Opens a database that is lost with the process: an empty one, or a copy of the `content` of another one. */
  static async inMemory(content?: Buffer): Promise<Store> {
    const db = new Database(content ?? Store.#empty ?? ':memory:');
    migrate(db);
    // a copy takes a thirtieth of the time
    if (!content) Store.#empty ??= db.serialize();
    rememberLately(db);
    return new Store(db, null, null);
  }

  /** All that is committed, as the bytes of a database file. */
  content(): Buffer {
    return this.#db.serialize();
  }

  /** Throws `Unavailable` if the disk or another process's lock prevents the read. */
  get<P, R>(statement: Statement<P, R>, parameters: P): R | undefined {
    return this.#reading(() => this.#get(statement, parameters));
  }

  /** Throws `Unavailable` if the disk or another process's lock prevents the read. */
  all<P, R>(statement: Statement<P, R>, parameters: P): R[] {
    return this.#reading(() => this.#all(statement, parameters));
  }

  /**
   * Runs `work` inside the next transaction and returns after its commit. Rejects with the exception of `work`, or with
   * `Unavailable` if the disk refused (full, read-only, failing); then no write of that transaction was done.
   */
  write<T>(work: (tx: Tx) => T): Promise<T> {
    if (this.#closed) return Promise.reject(new Unavailable('The service is stopping', STORE_RETRY_SECONDS));
    if (this.#sparing && this.#urgent.getStore() === undefined) return Promise.reject(unavailable(null));
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

  /** Runs the operator's own work, whose writes may use the remaining room of a full disk. */
  urgently<T>(work: () => T): T {
    return this.#urgent.run(true, work);
  }

  /**
   * Adjusts the log's limit to the database, and makes the reserve if it is missing. While the disk has no room for it,
   * as after a restart on a full disk, only the operator's writes are accepted.
   */
  tend(): void {
    this.#fitLog();
    if (!this.#reserve) return;
    if (this.#reserve.keep()) {
      if (!this.#sparing) return;
      if (this.#reserve.takesNothing()) {
        // a quota had room for the reserve alone
        this.#reserve.giveUp();
        return;
      }
      this.#sparing = false;
      this.#tell(null);
    } else if (!this.#reserve.hasRoom()) {
      this.#sparing = true;
      this.#tell(FULL);
    }
  }

  #fitLog(): void {
    const pages = this.#db.pragma('page_count', { simple: true }) as number;
    this.#isLarge = pages >= LOG_PAGES_MAX || this.#checkpoints.logBytes() >= LOG_BYTES_MAX;
    this.#db.pragma(`wal_autocheckpoint = ${this.#isLarge ? BY_THREAD : Math.max(pages, LOG_PAGES_MIN)}`);
    if (this.#isLarge) this.#checkpoints.tend();
  }

  health(): StoreHealth {
    const { stuck } = this.#checkpoints;
    return {
      freeBytes: this.#reserve?.freeBytes() ?? null,
      logBytes: this.#checkpoints.logBytes(),
      logStuck: stuck && { ms: performance.now() - stuck.since, error: stuck.error },
      trouble: this.#trouble,
    };
  }

  /** The size of the database on the disk in bytes, without its log. */
  size(): number {
    const { page_size: size, page_count: count } = this.#db
      .prepare('SELECT page_size, page_count FROM pragma_page_size, pragma_page_count')
      .get() as { page_size: number; page_count: number };
    return size * count;
  }

  /** Copies the database to a file that does not exist yet, in steps beside the writes. Throws when `signal` is aborted. */
  copyTo(file: string, signal: AbortSignal): Promise<void> {
    return copyInSteps(this.#db, file, signal);
  }

  /**
   * Waits for running writes, folds the log into the database and closes it. Needs no room on the disk: a log that
   * cannot be folded is read at the next start.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (;;) {
      this.#flush();
      if (this.#queue.length === 0) break;
      await new Promise((resolve) => setTimeout(resolve, LOCK_RETRY_MS));
    }
    await this.#checkpoints.stop();
    this.#fold();
    this.#db.close();
    this.#lock?.close();
  }

  #reading<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw isDiskError(error) ? unavailable(error) : error;
    }
  }

  #get<P, R>(statement: Statement<P, R>, parameters: P): R | undefined {
    const { prepared, read } = this.#prepare(statement);
    const row = prepared.get(...statement.bind(parameters)) as R | undefined;
    if (row !== undefined) read?.(row);
    return row;
  }

  #all<P, R>(statement: Statement<P, R>, parameters: P): R[] {
    const { prepared, read } = this.#prepare(statement);
    const rows = prepared.all(...statement.bind(parameters)) as R[];
    if (read) for (const row of rows) read(row);
    return rows;
  }

  #prepare<P, R>(statement: Statement<P, R>): Prepared {
    const key = statement as unknown as Statement<never, unknown>;
    let prepared = this.#prepared.get(key);
    if (!prepared) {
      const compiled = this.#db.prepare(statement.sql);
      prepared = { prepared: compiled, read: compiled.reader ? rowReader(compiled.columns()) : null };
      this.#prepared.set(key, prepared);
    }
    return prepared;
  }

  #flush(): void {
    if (this.#checkpoints.holdsCommits && !this.#closed) return;
    const jobs = this.#queue.splice(0, WRITES_PER_COMMIT_MAX);
    if (jobs.length === 0) {
      this.#flushing = false;
      return;
    }
    let outcomes: Outcome[];
    try {
      outcomes = this.#runTogether(jobs) ?? this.#runApart(jobs);
      if (this.#trouble !== null) this.#exec(TRIAL);
      this.#exec('COMMIT');
    } catch (error) {
      if (this.#db.inTransaction) this.#exec('ROLLBACK');
      if (!isLockError(error) || !this.#waitForLock(jobs)) this.#refuse(jobs, error);
      return;
    }
    this.#lockedSince = null;
    if (this.#isLarge) this.#checkpoints.tend();
    if (!this.#sparing) this.#tell(null);
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

  /** Puts a group back for another try, unless the time limit has passed. */
  #waitForLock(jobs: readonly Job[]): boolean {
    const now = performance.now();
    this.#lockedSince ??= now;
    const waitMsMax = this.#closed ? LOCK_WAIT_WHILE_STOPPING_MS_MAX : LOCK_WAIT_MS_MAX;
    if (now - this.#lockedSince > waitMsMax) return false;
    this.#queue.unshift(...jobs);
    setTimeout(() => this.#flush(), LOCK_RETRY_MS);
    return true;
  }

  #refuse(jobs: readonly Job[], error: unknown): void {
    const takesNothing = isRefusal(error) && this.#reserve?.takesNothing() === true;
    if (takesNothing || isFullError(error)) this.#makeRoom(takesNothing);
    this.#tell(takesNothing ? FULL : troubleOf(error));
    for (const job of jobs) job.reject(unavailable(error));
    this.#continue();
  }

  /** Frees space on a full disk: deletes the reserve and folds the log. `takesNothing`: it took no file before. */
  #makeRoom(takesNothing: boolean): void {
    if (this.#reserve) {
      this.#reserve.giveUp();
      this.#sparing = takesNothing || !this.#reserve.hasRoom();
    }
    this.#fold();
  }

  /** Folds the log into the database and empties it. A part that cannot be folded now stays in it. */
  #fold(): void {
    try {
      this.#db.pragma('wal_checkpoint(TRUNCATE)');
    } catch (error) {
      if (!isDiskError(error)) throw error;
    }
  }

  #tell(trouble: Trouble | null): void {
    if (trouble?.message === this.#trouble?.message) return;
    this.#trouble = trouble;
    this.onTrouble?.(trouble);
  }

  /**
   * Runs a group without savepoints, each of which costs as much as a statement. A write that throws before its first
   * change needs none. Returns null, with nothing changed, if one throws later than that.
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

  /** Runs the group again with a savepoint for each write, so that each can be undone alone. */
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

  /** Runs one write. Throws if an error ended the transaction itself, which ends the whole group. */
  #runJob(job: Job): Outcome {
    const callbacks: (() => void)[] = [];
    let changed = false;
    const tx: Tx = {
      get: (statement, parameters) => this.#get(statement, parameters),
      all: (statement, parameters) => this.#all(statement, parameters),
      run: (statement, parameters) => {
        this.#needTransaction();
        changed = true;
        const { changes, lastInsertRowid } = this.#prepare(statement).prepared.run(...statement.bind(parameters));
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
      // SQLITE_FULL and SQLITE_IOERR end the transaction; later statements would commit alone
      if (!this.#db.inTransaction || isDiskError(error)) throw error;
      return { job, error, failed: true, changed, callbacks: [] };
    }
  }

  /**
   * Checks that the transaction is still open. SQLITE_FULL and SQLITE_IOERR end it; if a write caught the error, its
   * later statements would commit alone.
   */
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

/** The error for the operator if the database cannot be opened or updated. `done`: how many steps of its upgrade are. */
function atStart(error: unknown, dataDir: string, done: number): unknown {
  if (error instanceof Rejected || !isDiskError(error)) return error;
  const { message } = troubleOf(error);
  const changed =
    done === 0
      ? 'Nothing was changed'
      : `Of its upgrade ${done} steps are done, so that an older release refuses it. The next start goes on with the others`;
  const rejected = new Rejected('store.disk', `The database in ${dataDir} cannot be opened: ${message}. ${changed}`);
  rejected.cause = error;
  return rejected;
}

function unavailable(cause: unknown): Unavailable {
  const error = new Unavailable('The database did not take the write', STORE_RETRY_SECONDS);
  error.cause = cause;
  return error;
}
