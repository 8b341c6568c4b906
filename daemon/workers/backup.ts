/**
 * Backups of the running service, on request or scheduled, one at a time in a thread. A folder keeps the newest.
 *
 * Invariant: one that was given up, because its hour is over, deletes nothing any more but its own files. So it may hang beside
 * another one.
 */
import { rm } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { Worker } from 'node:worker_threads';
import { end, raise, raiseAs } from '../app/alerts.ts';
import type { App } from '../app/app.ts';
import { DATABASE } from '../app/backup/container.ts';
import { freeName, needMarker, type Oddities, prepareFolder, rotate, sweepPartials } from '../app/backup/folder.ts';
import { sweepDataDir, sweepTemporary } from '../app/backup/leftovers.ts';
import { type BackupJob, type BackupMade, needBackupKey, openWork, withRoom } from '../app/backup/make.ts';
import { deadline, within } from '../app/deadline.ts';
import { quarantineOf } from '../app/recovery/quarantine.ts';
import { assert, Rejected, Unavailable } from '../domain/errors.ts';
import { message, reasonOf } from '../domain/messages.ts';
import type { RejectCode } from '../domain/rejections.ts';
import { unlessAborted } from '../kit/async.ts';
import { entryFile } from '../kit/program.ts';
import { parseSchedule } from '../kit/schedule.ts';
import { Drills } from './drills.ts';
import type { Timetable } from './timetable.ts';

const BACKUP_MS_MAX = 3_600_000;
const BUSY_RETRY_SECONDS = 30;
/** Each holds one of the process's four threads for files, and a look at its folder may hold another one. */
const HUNG_MAX = 2;
/** How often a folder that could not be used is tried again. */
const FOLDER_MS = 60_000;
/** After this time a disk counts as one that does not answer. */
const FOLDER_ANSWER_MS_MAX = 10_000;

type Answer = {
  made?: BackupMade;
  refused?: { code: RejectCode; message: string; field?: string } | null;
  message?: string;
};

/** A backup that is being made into a folder. Its signal is aborted once it is given up. */
type Run = { folder: string; stop: AbortController; signal: AbortSignal; ended: Promise<unknown> };

export class Backups {
  readonly #app: App;
  readonly #dataDir: string;
  readonly #release: string;
  readonly #drills: Drills;
  #prepared = false;
  /** A look at the folder that has no answer yet: each holds one of the process's few threads for files. */
  #looking: Promise<void> | null = null;
  /** An alert of this start says that the folder cannot be used. */
  #told = false;
  readonly #runs = new Set<Run>();

  constructor(app: App, dataDir: string, release: string) {
    this.#app = app;
    this.#dataDir = dataDir;
    this.#release = release;
    this.#drills = new Drills(app, dataDir);
  }

  /**
   * Registers the scheduled backups, if configured, and removes leftovers of an earlier run. A folder that cannot be used raises an
   * alert: a disk that is not there after a start, or does not answer, must not keep the service from taking payments.
   */
  async start(timetable: Timetable): Promise<void> {
    await Promise.all([sweepDataDir(this.#dataDir), sweepTemporary()]);
    const { folder, schedule: when } = this.#app.config.backup;
    const schedule = parseSchedule(when);
    assert(schedule, 'the configuration takes nothing that is no schedule');
    if (folder === null) return;
    timetable.every('backup folder', FOLDER_MS, () => this.#prepare(folder));
    timetable.at('backup', schedule, (stopping) => this.scheduled(folder, stopping));
  }

  /** Looks for the folder until it can be used. */
  async #prepare(folder: string): Promise<void> {
    if (this.#prepared) return;
    try {
      const isJoined = this.#looking !== null;
      await this.#look(folder, () => prepareFolder(this.#app, folder));
      // a look that began before prepares nothing: the next call does
      if (isJoined) return;
      this.#prepared = true;
      if (this.#told) await end(this.#app, 'backup.failed', folder);
    } catch (error) {
      if (!(error instanceof Rejected || error instanceof Unavailable)) throw error;
      this.#told = true;
      await raiseAs(this.#app, null, 'backup.failed', folder, { folder, reason: reasonOf(error) });
    }
  }

  /** Looks for the folder's marker, after `first`. Throws `Rejected`, and `Unavailable` while its disk does not answer. */
  async #look(folder: string, first: () => Promise<void> = async () => {}): Promise<void> {
    this.#looking ??= first()
      .then(() => needMarker(folder))
      .finally(() => {
        this.#looking = null;
      });
    await unlessAborted(this.#looking, deadline(FOLDER_ANSWER_MS_MAX, folder));
  }

  /**
   * Makes a backup; a damaged database raises an alert. Throws `Rejected`: `backup.no_wallet`, `backup.exists`,
   * `backup.folder`, `backup.unsound`, `backup.damaged`; and `Unavailable` while another backup is being made, or one to the same
   * folder hangs.
   */
  make(file: string): Promise<BackupMade> {
    return this.#alone(dirname(file), (signal) => this.#make(file, signal));
  }

  /** Whether a backup is being made, or hangs. */
  get isBusy(): boolean {
    return this.#runs.size > 0;
  }

  /**
   * Waits for the work at most an hour, or until `stopping` aborts. Work that hangs on a disk ends later: no other backup to its folder
   * begins before that.
   */
  async #alone<T>(folder: string, work: (signal: AbortSignal) => Promise<T>, stopping?: AbortSignal): Promise<T> {
    this.#needFree(folder);
    const stop = new AbortController();
    const parent = stopping ? AbortSignal.any([stop.signal, stopping]) : stop.signal;
    return within(BACKUP_MS_MAX, 'The backup', parent, (signal) => {
      const run: Run = { folder: resolve(folder), stop, signal, ended: Promise.resolve() };
      this.#runs.add(run);
      const working = work(signal).finally(() => this.#runs.delete(run));
      run.ended = working.catch(() => undefined);
      return unlessAborted(working, signal);
    });
  }

  /** Throws `Unavailable` while another backup is being made, one to the folder hangs, or too many hang. */
  #needFree(folder: string): void {
    const runs = [...this.#runs];
    if (runs.some(({ signal }) => !signal.aborted)) {
      throw new Unavailable('Another backup is being made', BUSY_RETRY_SECONDS);
    }
    const here = runs.find((run) => run.folder === resolve(folder));
    const hung = here ?? (runs.length < HUNG_MAX ? undefined : runs[0]);
    if (!hung) return;
    const text = `A backup to ${hung.folder} hangs, because a disk does not answer. A restart of the service ends it`;
    throw new Unavailable(text, BUSY_RETRY_SECONDS);
  }

  async #make(file: string, signal: AbortSignal): Promise<BackupMade> {
    try {
      const made = await this.#copyAndPack(file, signal);
      await end(this.#app, 'storage.damaged', DATABASE);
      return made;
    } catch (error) {
      const isUnsound = error instanceof Rejected && error.code === 'backup.unsound';
      if (isUnsound) await raiseAs(this.#app, null, 'storage.damaged', DATABASE, { reason: reasonOf(error) });
      throw error;
    }
  }

  async #copyAndPack(file: string, signal: AbortSignal): Promise<BackupMade> {
    await needBackupKey({ dataDir: this.#dataDir, file });
    // whatever took longer than the hour must not sweep another backup's folder away
    signal.throwIfAborted();
    const work = await withRoom(this.#dataDir, () => openWork(this.#dataDir, signal));
    try {
      // in steps on this connection: a thread's long read would keep the log from being folded
      await withRoom(this.#dataDir, () => this.#app.store.copyTo(join(work, DATABASE), signal));
      return await this.#pack(
        { dataDir: this.#dataDir, file, release: this.#release, now: this.#app.now(), work },
        signal,
      );
    } finally {
      await rm(work, { recursive: true, force: true });
    }
  }

  /** Makes a scheduled backup, and then deletes the oldest ones. Throws after it has raised an alert, unless `stopping` aborted. */
  async scheduled(folder: string, stopping?: AbortSignal): Promise<void> {
    try {
      // before the look, which would hold another thread for files
      this.#needFree(folder);
      await this.#look(folder);
      const odd = await this.#alone(folder, (signal) => this.#makeIn(folder, signal), stopping);
      await this.#tellOddities(folder, odd);
      await end(this.#app, 'backup.failed', folder);
    } catch (error) {
      if (!stopping?.aborted) {
        await raiseAs(this.#app, null, 'backup.failed', folder, { folder, reason: reasonOf(error) });
      }
      throw error;
    }
  }

  async #makeIn(folder: string, signal: AbortSignal): Promise<Oddities> {
    const now = this.#app.now();
    await sweepPartials(folder, signal);
    const { file, manifest } = await this.#make(await freeName(folder, now), signal);
    const { keep } = this.#app.config.backup;
    const until = quarantineOf(this.#app.store)?.since ?? null;
    return rotate(folder, { keep, until, made: file, fingerprint: manifest.fingerprint, now });
  }

  /** The operator API's part in it. */
  forOperator() {
    return { makeBackup: (file: string) => this.make(file), drills: this.#drills };
  }

  async stop(): Promise<void> {
    this.#drills.stop();
    const runs = [...this.#runs];
    for (const run of runs) run.stop.abort(new Unavailable('The service is stopping', BUSY_RETRY_SECONDS));
    await Promise.all(runs.map(({ ended }) => ended));
  }

  async #pack(job: BackupJob, signal: AbortSignal): Promise<BackupMade> {
    signal.throwIfAborted();
    const worker = new Worker(entryFile('backup-thread'), { workerData: job });
    const abort = (): void => void worker.terminate();
    signal.addEventListener('abort', abort);
    try {
      const answer = await new Promise<Answer>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', () => reject(new Unavailable('The backup was broken off', BUSY_RETRY_SECONDS)));
        if (signal.aborted) abort();
      });
      if (answer.refused) throw new Rejected(answer.refused.code, answer.refused.message, answer.refused.field);
      if (!answer.made) throw new Error(`the backup failed: ${answer.message}`);
      this.#app.log.info({ file: answer.made.file, bytes: answer.made.bytes }, 'a backup was made');
      return answer.made;
    } finally {
      signal.removeEventListener('abort', abort);
      await worker.terminate();
    }
  }

  async #tellOddities(folder: string, { future, broken }: Oddities): Promise<void> {
    const kinds = [
      ['backup.future', future],
      ['backup.broken', broken],
    ] as const;
    for (const [kind, [file, ...others]] of kinds) {
      if (file === undefined) await end(this.#app, kind, folder);
      else await raise(this.#app, null, kind, folder, message(kind, { count: others.length + 1, folder, file }));
    }
  }
}
