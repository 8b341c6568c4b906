/**
 * Runs periodic jobs. A timer on the monotonic clock checks which jobs are due: those with an interval by elapsed time,
 * those with a schedule by the slots since their last run.
 *
 * Slots missed while the machine was off, or skipped by a clock put forward, are made up for by one run. If the clock is
 * put back, the schedule continues from the new time. A failed job is tried again at growing intervals. The database
 * records each job's last run.
 */

import type { App } from '../app/app.ts';
import { jobDoneAt, saveJobDone } from '../app/job-times.ts';
import { Unavailable } from '../domain/errors.ts';
import { MS_PER_HOUR, MS_PER_MINUTE } from '../domain/time.ts';
import { lastSlot, type Schedule } from '../kit/schedule.ts';

const TICK_MS = 1_000;
const RETRY_SECONDS = 30;
/** Missed slots wait until the service has started completely. */
const AFTER_START_MS = 10_000;
const RETRY_MS_MIN = 15 * 60_000;
const RETRY_MS_MAX = 6 * MS_PER_HOUR;
/** Clocks are corrected by seconds all the time. A smaller step back must not repeat a slot. */
const SET_BACK_MS_MIN = 10 * 60_000;
/** A smaller difference between clock and elapsed time does not count as a set clock. */
const STEP_MS_MIN = 30_000;

type Needs = Pick<App, 'store' | 'now' | 'log'>;

/** `run` throws if it could not do its work. `stopping` aborts once the service stops, which waits for it. */
type Work = (stopping: AbortSignal) => Promise<void>;

type Interval = {
  kind: 'interval';
  name: string;
  everyMs: number;
  dueAt: number;
  run: Work;
  running: Promise<void> | null;
};
type Slots = {
  kind: 'slots';
  name: string;
  schedule: Schedule;
  run: Work;
  running: Promise<void> | null;
  /** The slots up to this time are done. Milliseconds since 1970. */
  doneAt: number;
  /** By the monotonic clock. */
  notBefore: number;
  retryMs: number;
  /** The minute in which it was last checked: slots are whole minutes. */
  minute: number | null;
};

type TimetableOptions = {
  /** Milliseconds of a monotonic clock. */
  passed?: () => number;
};

export class Timetable {
  readonly #app: Needs;
  readonly #passed: () => number;
  readonly #startedAt: number;
  readonly #jobs: (Interval | Slots)[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** The difference between the clock and the monotonic clock. */
  #offset: number;
  readonly #stopping = new AbortController();
  /** Called when the clock was set by more than STEP_MS_MIN. */
  onStep: (() => void) | null = null;

  constructor(app: Needs, { passed = () => performance.now() }: TimetableOptions = {}) {
    this.#app = app;
    this.#passed = passed;
    this.#startedAt = passed();
    this.#offset = app.now() - this.#startedAt;
  }

  /** Calls `run` at once and then every `everyMs` milliseconds. Missed runs are skipped. */
  every(name: string, everyMs: number, run: Work): void {
    this.#jobs.push({ kind: 'interval', name, everyMs, dueAt: this.#passed(), run, running: null });
  }

  /** Calls `run` once for all slots of a schedule since its last success. `name` identifies the job in the database. */
  at(name: string, schedule: Schedule, run: Work): void {
    const known = jobDoneAt(this.#app, name);
    const notBefore = this.#startedAt + AFTER_START_MS;
    const times = { doneAt: known ?? 0, notBefore, retryMs: RETRY_MS_MIN, minute: null };
    const job: Slots = { kind: 'slots', name, schedule, run, running: null, ...times };
    this.#jobs.push(job);
    // a new job has missed no slot
    if (known === null) void this.#done(job);
  }

  start(): void {
    this.#timer = setInterval(() => this.tick(), TICK_MS);
    this.#timer.unref();
    this.tick();
  }

  tick(): void {
    if (this.#stopping.signal.aborted) return;
    this.#noticeStep();
    for (const job of this.#jobs) {
      if (job.running || !this.#isDue(job)) continue;
      job.running = this.#do(job).finally(() => {
        job.running = null;
      });
    }
  }

  /** Stops the timer and waits for running jobs. */
  async stop(): Promise<void> {
    if (this.#timer) clearInterval(this.#timer);
    this.#stopping.abort(new Unavailable('The service is stopping', RETRY_SECONDS));
    await this.idle();
  }

  /** Resolves once no job is running. */
  async idle(): Promise<void> {
    await Promise.all(this.#jobs.map(({ running }) => running));
  }

  #noticeStep(): void {
    const offset = this.#app.now() - this.#passed();
    const byMs = offset - this.#offset;
    if (Math.abs(byMs) < STEP_MS_MIN) return;
    this.#offset = offset;
    this.#app.log.warn({ seconds: Math.round(byMs / 1_000) }, 'the clock of this machine was set');
    this.onStep?.();
  }

  #isDue(job: Interval | Slots): boolean {
    if (job.kind === 'interval') return this.#passed() >= job.dueAt;
    if (this.#passed() < job.notBefore) return false;
    const now = this.#app.now();
    const minute = Math.floor(now / MS_PER_MINUTE);
    if (minute === job.minute) return false;
    if (job.doneAt - now > SET_BACK_MS_MIN) void this.#done(job);
    const slot = lastSlot(job.schedule, now);
    if (slot !== null && slot > job.doneAt) return true;
    job.minute = minute;
    return false;
  }

  /** Never rejects. */
  #done(job: Slots, at = this.#app.now()): Promise<void> {
    job.doneAt = at;
    job.retryMs = RETRY_MS_MIN;
    return saveJobDone(this.#app, job.name, at).catch((error: unknown) => {
      this.#app.log.warn({ job: job.name, error }, 'the time of a job could not be stored');
    });
  }

  async #do(job: Interval | Slots): Promise<void> {
    const now = this.#app.now();
    if (job.kind === 'interval') job.dueAt = this.#passed() + job.everyMs;
    try {
      await job.run(this.#stopping.signal);
      if (job.kind === 'slots') await this.#done(job, now);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      this.#app.log.error({ job: job.name, error }, 'a scheduled job failed');
      if (job.kind !== 'slots') return;
      job.notBefore = this.#passed() + job.retryMs;
      job.retryMs = Math.min(2 * job.retryMs, RETRY_MS_MAX);
    }
  }
}
