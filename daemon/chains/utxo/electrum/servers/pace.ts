/**
 * The number of concurrent requests to a server: one more after each round of timely answers, half as many after a late
 * answer, a lost one, or a refusal for cost (additive increase, multiplicative decrease, as in RFC 5681 for TCP). So a
 * server that slows down its clients, like ElectrumX, is not asked more than it answers.
 *
 * Invariant: at most `limit` requests run at once, and background requests use at most half of them, so that a payment
 * does not wait behind them.
 */

/** `news`: somebody waits for the answer. `passing`: background work. */
export type Haste = 'news' | 'passing';

const LIMIT_MIN = 2;
const LIMIT_START = 16;
/** The maximum for a server that answers within `NEAR_MS`, probably one's own; and for one that others use, too. */
const LIMIT_MAX_NEAR = 512;
const LIMIT_MAX_FAR = 64;
const NEAR_MS = 20;
/** An answer is late after this time, or after this many times the fastest answer's time. */
const LATE_MS = 1_500;
const LATE_FACTOR = 4;
/** The fastest time is raised by this factor with each further answer, because networks change. */
const FASTEST_DRIFT = 1.001;
/** ElectrumX delays each answer by up to 2.5 s, in proportion to what the client cost: 0.1 s are 4 % of the way to its limit. */
const DELAYED_MS = 100;
/** The weight of the newest answer in the running mean. */
const MEAN_WEIGHT = 0.1;
/** How long a server counts as slow after a late answer. */
const SLOWED_MS = 20_000;

export class Pace {
  #limit = LIMIT_START;
  #fastestMs = Number.POSITIVE_INFINITY;
  /** Unlike the fastest answer of late, it does not forget: a server may delay answers for hours. */
  #quickestMs = Number.POSITIVE_INFINITY;
  #meanMs = 0;
  #hasBeenLate = false;
  /** Answers to requests before the last decrease do not count for the next one. */
  #decreasedAtMs = Number.NEGATIVE_INFINITY;
  #lateAtMs = Number.NEGATIVE_INFINITY;
  #underWay = 0;
  #passing = 0;
  readonly #waiting: Record<Haste, (() => void)[]> = { news: [], passing: [] };

  /** The current maximum of concurrent requests. */
  limit(haste: Haste): number {
    const limit = Math.floor(this.#limit);
    return haste === 'news' ? limit : Math.max(1, limit >> 1);
  }

  /** Whether the server answered late recently. */
  get isSlowed(): boolean {
    return performance.now() - this.#lateAtMs < SLOWED_MS;
  }

  /**
   * Whether its answers take longer than they can, as those of a server that makes costly clients wait. Work for which
   * nobody waits would slow down what somebody waits for.
   */
  get isDelayed(): boolean {
    return this.isSlowed || this.#meanMs > Math.max(this.#quickestMs + DELAYED_MS, LATE_FACTOR * this.#quickestMs);
  }

  /** Runs a request as soon as there is room for it. */
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
    this.#quickestMs = Math.min(tookMs, this.#quickestMs);
    this.#meanMs += MEAN_WEIGHT * (tookMs - this.#meanMs);
    this.#fastestMs = Math.min(tookMs, this.#fastestMs * FASTEST_DRIFT);
    if (tookMs > Math.max(LATE_MS, LATE_FACTOR * this.#fastestMs)) {
      this.#late(sentAtMs);
      return;
    }
    // an unused limit proves nothing
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
