/**
 * How long a long task will take, for the log. ElectrumX at its default settings serves two or three addresses a second
 * to one client, once that has asked for some ten thousand.
 */
import { TimeLeft } from '../../../../domain/time-left.ts';

const SECONDS_PER_MINUTE = 60;

export class Progress {
  #left = new TimeLeft();
  #last = Number.POSITIVE_INFINITY;

  /** The rest of a sentence about `done` of `total`. `isSlowed`: the server delays its answers. */
  text(done: number, total: number, isSlowed: boolean, nowMs = performance.now()): string {
    // it began anew
    if (done < this.#last) this.#left = new TimeLeft();
    this.#last = done;
    const seconds = this.#left.after(done, total, nowMs);
    const hint = isSlowed
      ? '; the server slows this client down: an ElectrumX of your own does not with COST_SOFT_LIMIT=0 and COST_HARD_LIMIT=0'
      : '';
    if (seconds === null) return hint;
    const minutes = Math.ceil(seconds / SECONDS_PER_MINUTE);
    return `, ${minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`} to go at this rate${hint}`;
  }
}
