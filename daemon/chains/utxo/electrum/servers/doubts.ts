/** Since when a server says of scripts what may be true for a moment only. */

/** More addresses than one block pays. */
const SCRIPTS_MAX = 20_000;

export class Doubts {
  readonly #forMs: number;
  readonly #sinceMs = new Map<string, number>();

  constructor(forMs: number) {
    this.#forMs = forMs;
  }

  /** Notes that a script is in doubt. Whether one is for longer than it may be, or too many are. */
  isLong(scriptHash: string): boolean {
    const now = performance.now();
    const sinceMs = this.#sinceMs.get(scriptHash) ?? now;
    this.#sinceMs.set(scriptHash, sinceMs);
    return now - sinceMs >= this.#forMs || this.#sinceMs.size > SCRIPTS_MAX;
  }

  end(scriptHash: string): void {
    this.#sinceMs.delete(scriptHash);
  }

  clear(): void {
    this.#sinceMs.clear();
  }
}
