/** Chance that a seed repeats: sfc32 (Chris Doty-Humphrey, PractRand), seeded by splitmix32. */

export class Random {
  readonly #state: [number, number, number, number];

  constructor(seed: number) {
    let mixed = seed >>> 0;
    const next = (): number => {
      mixed = (mixed + 0x9e3779b9) >>> 0;
      let z = mixed;
      z = Math.imul(z ^ (z >>> 16), 0x85ebca6b);
      z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
      return (z ^ (z >>> 16)) >>> 0;
    };
    this.#state = [next(), next(), next(), next()];
  }

  /** 0 to 2^32 - 1. */
  bits(): number {
    const s = this.#state;
    const t = (((s[0] + s[1]) | 0) + s[3]) | 0;
    s[3] = (s[3] + 1) | 0;
    s[0] = s[1] ^ (s[1] >>> 9);
    s[1] = (s[2] + (s[2] << 3)) | 0;
    s[2] = (s[2] << 21) | (s[2] >>> 11);
    s[2] = (s[2] + t) | 0;
    return t >>> 0;
  }

  /** 0 to below 1. */
  fraction(): number {
    return this.bits() / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  whole(low: number, high: number): number {
    return low + Math.floor(this.fraction() * (high - low + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  /** One of a list, or undefined when it is empty. */
  pick<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.fraction() * from.length)];
  }

  /** One of these, each as likely as its weight says. */
  weighted<T>(from: readonly (readonly [weight: number, value: T])[]): T {
    const total = from.reduce((sum, [weight]) => sum + weight, 0);
    let at = this.fraction() * total;
    for (const [weight, value] of from) {
      at -= weight;
      if (at < 0) return value;
    }
    const last = from.at(-1);
    if (!last) throw new Error('nothing to choose from');
    return last[1];
  }
}
