/** How far the clock of this machine is from those of the rate sources, by the `Date` of their answers (RFC 9110, 6.6.1). */

const SOURCES_MIN = 3;

export class OtherClocks {
  /** By source: how far this machine was ahead when it last answered, milliseconds. */
  readonly #ahead = new Map<string, number>();

  /** `date`: the header as it came; `now`: milliseconds since 1970. */
  note(source: string, date: string | null, now: number): void {
    const theirs = date === null ? Number.NaN : Date.parse(date);
    if (!Number.isNaN(theirs)) this.#ahead.set(source, now - theirs);
  }

  /** Forgets the measurements of a clock that was set since. */
  clear(): void {
    this.#ahead.clear();
  }

  /** How far this machine's clock is ahead of most others, milliseconds; null where fewer than three are known. */
  aheadMs(): number | null {
    if (this.#ahead.size < SOURCES_MIN) return null;
    const sorted = [...this.#ahead.values()].sort((a, b) => a - b);
    return sorted[sorted.length >> 1] ?? null;
  }
}
