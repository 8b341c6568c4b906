/** How long the rest of a long task takes, by its rate of the last minute: a server that slows its client down does so more and more. */
import { MS_PER_MINUTE } from './time.ts';

/** The rate of a longer time would not show that a server slows down. */
const MEASURED_MS_MAX = MS_PER_MINUTE;
/** Below this the rate says nothing. */
const MEASURED_MS_MIN = 1_000;

export class TimeLeft {
  readonly #marks: { atMs: number; done: number }[] = [];

  /** The seconds left when `done` of `total` are done; null while that is unknown. */
  after(done: number, total: number, nowMs = performance.now()): number | null {
    this.#marks.push({ atMs: nowMs, done });
    while (this.#marks.length > 2 && nowMs - (this.#marks[1]?.atMs ?? nowMs) >= MEASURED_MS_MAX) this.#marks.shift();
    const first = this.#marks[0];
    if (!first || nowMs - first.atMs < MEASURED_MS_MIN || done <= first.done) return null;
    return Math.ceil(((total - done) * (nowMs - first.atMs)) / (done - first.done) / 1_000);
  }
}
