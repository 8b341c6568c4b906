/**
 * How long a long task will take, for the log. ElectrumX at its default settings serves two or three addresses a second to one
 * client, once that has asked for some ten thousand.
 */
import { MS_PER_MINUTE } from '../../../../domain/time.ts';

/** Below this the rate says nothing. */
const MEASURED_MS_MIN = 5_000;

export class Progress {
  #beganAtMs = 0;
  #from = 0;
  #last = Number.POSITIVE_INFINITY;

  /** The rest of a sentence about `done` of `total`. `isSlowed`: the server delays its answers. */
  text(done: number, total: number, isSlowed: boolean, nowMs = performance.now()): string {
    // it began anew
    if (done < this.#last) {
      this.#beganAtMs = nowMs;
      this.#from = done;
    }
    this.#last = done;
    const tookMs = nowMs - this.#beganAtMs;
    const hint = isSlowed
      ? '; the server slows this client down: an ElectrumX of your own does not with COST_SOFT_LIMIT=0 and COST_HARD_LIMIT=0'
      : '';
    if (tookMs < MEASURED_MS_MIN || done <= this.#from) return hint;
    const minutes = Math.ceil(((total - done) * tookMs) / (done - this.#from) / MS_PER_MINUTE);
    return `, ${minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`} to go at this rate${hint}`;
  }
}
