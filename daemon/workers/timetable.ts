/**
 * What is done again and again. A tick that no change of the clock touches asks each job whether it is due: those of an
 * interval by the time that passed, those of a schedule by the slots that have come since they were last done.
 *
 * A slot that was missed, because the machine was off or its clock was put forward, is made up for once, however many
 * there were. A clock that is put back begins anew from there. A job that fails is tried again, less and less often.
 * What was done is in the database, so that a start knows what it missed.
 */
import type { App } from '../app/app.ts';
import { jobDoneAt, saveJobDone } from '../app/job-times.ts';
import { lastSlot, type Schedule } from '../domain/schedule.ts';

const TICK_MS = 1_000;
/** What was missed while the machine was off waits until the service has found its feet. */
const AFTER_START_MS = 10_000;
const RETRY_MS_MIN = 15 * 60_000;
const RETRY_MS_MAX = 6 * 3_600_000;
/** Clocks are put right by seconds all the time: a slot that was done must not come again for that. */
const SET_BACK_MS_MIN = 10 * 60_000;
/** By how much the clock must differ from the time that passed for it to have been set. */
const STEP_MS_MIN = 30_000;
const MINUTE_MS = 60_000;

type Needs = Pick<App, 'store' | 'now' | 'log'>;

/** `run` throws when what is due could not be done. */
export type Work = () => Promise<void>;

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
  /** The slots up to here are done. Milliseconds since 1970. */
  doneAt: number;
  /** Of the clock that nobody sets. */
  notBefore: number;
  retryMs: number;
  /** The minute of the clock in which it was last looked at: slots are whole minutes. */
  minute: number | null;
};

export type TimetableOptions = {
  /** Milliseconds of a clock that nobody sets. */
  passed?: () => number;
};

export class Timetable {
  readonly #app: Needs;
  readonly #passed: () => number;
  readonly #startedAt: number;
  readonly #jobs: (Interval | Slots)[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** What the clock says less what has passed. */
  #offset: number;
  #stopped = false;
  /** Called when the clock was set by more than half a minute. */
  onStep: (() => void) | null = null;

  constructor(app: Needs, { passed = () => performance.now() }: TimetableOptions = {}) {
    this.#app = app;
    this.#passed = passed;
    this.#startedAt = passed();
    this.#offset = app.now() - this.#startedAt;
  }

  /** Does `run` whenever `everyMs` have passed, at once for the first time. What is missed meanwhile is skipped. */
  every(name: string, everyMs: number, run: Work): void {
    this.#jobs.push({ kind: 'interval', name, everyMs, dueAt: this.#passed(), run, running: null });
  }

  /** Does `run` once for all slots of a schedule that have come since it last succeeded. `name` is what it is known by. */
  at(name: string, schedule: Schedule, run: Work): void {
    const known = jobDoneAt(this.#app, name);
    const notBefore = this.#startedAt + AFTER_START_MS;
    const times = { doneAt: known ?? 0, notBefore, retryMs: RETRY_MS_MIN, minute: null };
    const job: Slots = { kind: 'slots', name, schedule, run, running: null, ...times };
    this.#jobs.push(job);
    // nothing was missed before it was known
    if (known === null) void this.#done(job);
  }

  start(): void {
    this.#timer = setInterval(() => this.tick(), TICK_MS);
    this.#timer.unref();
    this.tick();
  }

  /** Begins what is due. */
  tick(): void {
    if (this.#stopped) return;
    this.#noticeStep();
    for (const job of this.#jobs) {
      if (job.running || !this.#isDue(job)) continue;
      job.running = this.#do(job).finally(() => {
        job.running = null;
      });
    }
  }

  /** Ends the ticking and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    if (this.#timer) clearInterval(this.#timer);
    await this.idle();
  }

  /** Resolves once nothing is under way. */
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
    const minute = Math.floor(now / MINUTE_MS);
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
      this.#app.log.warn({ job: job.name, error }, 'when a job was done could not be stored');
    });
  }

  async #do(job: Interval | Slots): Promise<void> {
    const now = this.#app.now();
    if (job.kind === 'interval') job.dueAt = this.#passed() + job.everyMs;
    try {
      await job.run();
      if (job.kind === 'slots') await this.#done(job, now);
    } catch (error) {
      if (this.#stopped) return;
      this.#app.log.error({ job: job.name, error }, 'what is done by the clock failed');
      if (job.kind !== 'slots') return;
      job.notBefore = this.#passed() + job.retryMs;
      job.retryMs = Math.min(2 * job.retryMs, RETRY_MS_MAX);
    }
  }
}
