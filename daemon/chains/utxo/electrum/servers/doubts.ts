/** Since when a server says of scripts what may be true for a moment only. */

/** More addresses than one block pays. */
const SCRIPTS_MAX = 20_000;

export class Doubts {
  readonly #forMs: number;
  readonly #noted = new Map<string, { sinceMs: number; lastMs: number }>();

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  /** Notes that a script is in doubt. Whether one is for longer than it may be, or too many are. */
  isLong(scriptHash: string): boolean {
    const now = performance.now();
    const sinceMs = this.#noted.get(scriptHash)?.sinceMs ?? now;
    this.#noted.set(scriptHash, { sinceMs, lastMs: now });
    return now - sinceMs >= this.#forMs || this.#noted.size > SCRIPTS_MAX;
  }

  /** Whether a script had been in doubt for longer than it may be when that was noted last. */
  wasLong(scriptHash: string): boolean {
    const noted = this.#noted.get(scriptHash);
    return noted !== undefined && noted.lastMs - noted.sinceMs >= this.#forMs;
  }

  has(scriptHash: string): boolean {
    return this.#noted.has(scriptHash);
  }

  end(scriptHash: string): void {
    this.#noted.delete(scriptHash);
  }

  clear(): void {
    this.#noted.clear();
  }
}
