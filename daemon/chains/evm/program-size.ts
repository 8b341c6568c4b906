/**
 * How many addresses an endpoint examines in one run of a program. It is halved at each refusal, because endpoints limit the gas of a
 * call differently. One that refuses even few does not run programs, and is not asked again for a while.
 */
const REFUSED_KEPT_MS = 10 * 60_000;
/** An endpoint that refuses even so few does not run programs. */
const ADDRESSES_MIN = 30;

export class ProgramSize {
  readonly #most: number;
  #addresses: number;
  #refusedUntilMs = 0;

  constructor(most: number) {
    this.#most = most;
    this.#addresses = most;
  }

  /** Whether the endpoint is known to run programs. */
  get isRunning(): boolean {
    return performance.now() >= this.#refusedUntilMs;
  }

  parts<T>(addresses: readonly T[]): T[][] {
    const count = Math.ceil(addresses.length / this.#addresses);
    return Array.from({ length: count }, (_, i) => addresses.slice(i * this.#addresses, (i + 1) * this.#addresses));
  }

  refused(): void {
    this.#addresses = Math.floor(this.#addresses / 2);
    if (this.#addresses >= ADDRESSES_MIN) return;
    this.#addresses = this.#most;
    this.#refusedUntilMs = performance.now() + REFUSED_KEPT_MS;
  }
}
