/**
 * Backups beside the running service: when the operator asks, and by the clock into a folder where only the newest are
 * kept. One at a time, in a thread of its own.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { raise } from '../app/alerts.ts';
import type { App } from '../app/app.ts';
import type { BackupJob, BackupMade } from '../app/backup/make.ts';
import { assert, Rejected, Unavailable } from '../domain/errors.ts';
import { parseSchedule } from '../domain/schedule.ts';
import type { Timetable } from './timetable.ts';

const NAME = /^countinghouse-\d{8}-\d{6}\.backup$/;
const BACKUP_MINUTES_MAX = 60;
const BUSY_RETRY_SECONDS = 30;

type Answer = {
  made?: BackupMade;
  refused?: { code: string; message: string; field?: string } | null;
  message?: string;
};

export class Backups {
  readonly #app: App;
  readonly #dataDir: string;
  readonly #release: string;
  #running: Worker | null = null;

  constructor(app: App, dataDir: string, release: string) {
    this.#app = app;
    this.#dataDir = dataDir;
    this.#release = release;
  }

  /** Begins with the scheduled ones, if any are configured. */
  start(timetable: Timetable): void {
    const { folder, schedule: when } = this.#app.config.backup;
    const schedule = parseSchedule(when);
    assert(schedule, 'the configuration takes nothing that is no schedule');
    if (folder !== null) timetable.at('backup', schedule, () => this.scheduled(folder));
  }

  /**
   * Makes one. Throws `Rejected` `backup.*`, and `Unavailable` while another is being made.
   */
  async make(file: string): Promise<BackupMade> {
    if (this.#running) throw new Unavailable('Another backup is being made', BUSY_RETRY_SECONDS);
    const job: BackupJob = { dataDir: this.#dataDir, file, release: this.#release, now: this.#app.now() };
    // built, it is JavaScript
    const name = import.meta.url.endsWith('.ts') ? './backup-thread.ts' : './backup-thread.js';
    const thread = new URL(name, import.meta.url);
    const worker = new Worker(thread, { workerData: job });
    this.#running = worker;
    const deadline = setTimeout(() => void worker.terminate(), BACKUP_MINUTES_MAX * 60_000);
    try {
      const answer = await new Promise<Answer>((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
        worker.once('exit', () => reject(new Unavailable('The backup was broken off', BUSY_RETRY_SECONDS)));
      });
      if (answer.refused) throw new Rejected(answer.refused.code, answer.refused.message, answer.refused.field);
      if (!answer.made) throw new Error(`the backup failed: ${answer.message}`);
      this.#app.log.info({ file: answer.made.file, bytes: answer.made.bytes }, 'a backup was made');
      return answer.made;
    } finally {
      clearTimeout(deadline);
      await worker.terminate();
      this.#running = null;
    }
  }

  /** One by the clock: into the configured folder, after which the oldest of its kind go. Never throws. */
  async scheduled(folder: string): Promise<void> {
    const { keep } = this.#app.config.backup;
    try {
      const stamp = new Date(this.#app.now()).toISOString().replace(/[-:]/g, '').replace('T', '-').slice(0, 15);
      await this.make(join(folder, `countinghouse-${stamp}.backup`));
      const names = (await readdir(folder)).filter((name) => NAME.test(name)).sort();
      for (const name of names.slice(0, Math.max(0, names.length - keep)))
        await rm(join(folder, name), { force: true });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#app.log.error({ error }, 'the scheduled backup failed');
      await raise(this.#app, 'backup.failed', folder, `The scheduled backup into ${folder} failed: ${reason}`);
    }
  }

  async stop(): Promise<void> {
    await this.#running?.terminate();
  }
}
