/**
 * How many requests a server is given at once: one more for each round of answers that came in good time, half as many
 * when one came late, was lost or was refused for its cost (additive increase, multiplicative decrease; RFC 5681 has the
 * same rule for TCP). A server that slows its clients down, as ElectrumX does with costly ones, is asked as much as it
 * answers and no more.
 *
 * Invariant: never more than `limit` are under way, and what is done in passing takes at most half of them, so that a
 * payment does not wait behind a long look.
 */

/** `news`: somebody waits for it. `passing`: it has time. */
export type Haste = 'news' | 'passing';

const LIMIT_MIN = 2;
const LIMIT_START = 16;
/** At once on a server that answers within `NEAR_MS`: one's own; and on one that is far away, which others use too. */
const LIMIT_MAX_NEAR = 512;
const LIMIT_MAX_FAR = 64;
const NEAR_MS = 20;
/** An answer is late after so long, or after so many times as long as the fastest one took. */
const LATE_MS = 1_500;
const LATE_FACTOR = 4;
/** The fastest answer is forgotten by so much with every other: networks change. */
const FASTEST_DRIFT = 1.001;
/** A server counts as slowing us down for so long after a late answer. */
const SLOWED_MS = 20_000;

export class Pace {
  #limit = LIMIT_START;
  #fastestMs = Number.POSITIVE_INFINITY;
  #hasBeenLate = false;
  /** What was sent before the last decrease says nothing about what followed from it. */
  #decreasedAtMs = Number.NEGATIVE_INFINITY;
  #lateAtMs = Number.NEGATIVE_INFINITY;
  #underWay = 0;
  #passing = 0;
  readonly #waiting: Record<Haste, (() => void)[]> = { news: [], passing: [] };

  /** Requests that may be under way at once. */
  limit(haste: Haste): number {
    const limit = Math.floor(this.#limit);
    return haste === 'news' ? limit : Math.max(1, limit >> 1);
  }

  /** Whether the server answered late not long ago. */
  get isSlowed(): boolean {
    return performance.now() - this.#lateAtMs < SLOWED_MS;
  }

  /** Makes a request once there is room for it. */
  async run<T>(haste: Haste, isCostly: (error: unknown) => boolean, request: () => Promise<T>): Promise<T> {
    while (!this.#hasRoom(haste)) await new Promise<void>((resolve) => this.#waiting[haste].push(resolve));
    this.#underWay++;
    if (haste === 'passing') this.#passing++;
    const sentAtMs = performance.now();
    try {
      const result = await request();
      this.#answered(sentAtMs);
      return result;
    } catch (error) {
      if (isCostly(error)) this.#late(sentAtMs);
      throw error;
    } finally {
      this.#underWay--;
      if (haste === 'passing') this.#passing--;
      this.#admit();
    }
  }

  #hasRoom(haste: Haste): boolean {
    if (this.#underWay >= this.limit('news')) return false;
    return haste === 'news' || (this.#passing < this.limit('passing') && this.#waiting.news.length === 0);
  }

  #admit(): void {
    for (const haste of ['news', 'passing'] as const) {
      let room = this.limit('news') - this.#underWay;
      if (haste === 'passing') room = Math.min(room, this.limit('passing') - this.#passing);
      for (const enter of this.#waiting[haste].splice(0, Math.max(0, room))) enter();
    }
  }

  #answered(sentAtMs: number): void {
    const tookMs = performance.now() - sentAtMs;
    this.#fastestMs = Math.min(tookMs, this.#fastestMs * FASTEST_DRIFT);
    if (tookMs > Math.max(LATE_MS, LATE_FACTOR * this.#fastestMs)) {
      this.#late(sentAtMs);
      return;
    }
    // What is not made use of proves nothing.
    if (this.#underWay * 2 < this.#limit) return;
    const max = this.#fastestMs < NEAR_MS ? LIMIT_MAX_NEAR : LIMIT_MAX_FAR;
    this.#limit = Math.min(max, this.#limit + (this.#hasBeenLate ? 1 / this.#limit : 1));
  }

  #late(sentAtMs: number): void {
    const now = performance.now();
    this.#lateAtMs = now;
    if (sentAtMs < this.#decreasedAtMs) return;
    this.#decreasedAtMs = now;
    this.#hasBeenLate = true;
    this.#limit = Math.max(LIMIT_MIN, this.#limit / 2);
  }
}
