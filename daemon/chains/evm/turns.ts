/**
 * The order in which addresses have their differences explained. One look explains only some, and anybody can send a crumb to any number
 * of addresses with each block. So those come first that were not tried lately, or not for the longest time; of these, those that received most.
 */
import { MS_PER_HOUR } from '../../domain/time.ts';

/**
 * `look`: the number of the look that tried it; 0: none did. `atMs`: when, by `performance.now`. `comparedTo`: of one that waits, the
 * height up to which it was compared. `waits`: in how many looks without a break.
 */
type Turn = { look: number; atMs: number; comparedTo: number | null; waits: number };

/** More than one look asks for. */
const TURNS_MAX = 5_000;
/** Crumbs of each block have an address wait in each look. */
const WAITS_MAX = 10;
const NEVER: Turn = { look: 0, atMs: Number.NEGATIVE_INFINITY, comparedTo: null, waits: 0 };

export class Turns {
  #looks = 0;
  readonly #turns = new Map<number, Turn>();

  /** Begins a look that tries addresses. */
  begin(): void {
    this.#looks++;
    if (this.#turns.size < TURNS_MAX) return;
    // what waits keeps its height, or a payment would be dated in a later block
    for (const [id, { comparedTo }] of this.#turns) if (comparedTo === null) this.#turns.delete(id);
  }

  /** Addresses in the order of their turns. `more`: what an address received beyond what is known. */
  inOrder<T extends { one: { id: number }; more: bigint }>(open: readonly T[]): T[] {
    const lookOf = ({ one }: T): number => (this.wasTried(one.id) ? this.#of(one.id).look : 0);
    return open.toSorted((a, b) => lookOf(a) - lookOf(b) || Number(b.more - a.more));
  }

  /** Whether it had its turn within the last hour, so that it can wait for the next one. */
  wasTried(id: number): boolean {
    return performance.now() - this.#of(id).atMs < MS_PER_HOUR;
  }

  tried(id: number): void {
    this.#turns.set(id, { ...this.#of(id), look: this.#looks, atMs: performance.now() });
  }

  /** It waits. `comparedTo`: unless it waited before. */
  left(id: number, comparedTo: number | null): void {
    const turn = this.#of(id);
    this.#turns.set(id, { ...turn, comparedTo: turn.comparedTo ?? comparedTo, waits: turn.waits + 1 });
  }

  /** It waits no more. */
  done(id: number): void {
    const turn = this.#turns.get(id);
    if (turn) Object.assign(turn, { comparedTo: null, waits: 0 });
  }

  /** Whether it waited in so many looks that it is explained all the same. */
  hasWaited(id: number): boolean {
    return this.#of(id).waits >= WAITS_MAX;
  }

  /** The height up to which an address that waits was compared; null: it does not wait. */
  comparedTo(id: number): number | null {
    return this.#of(id).comparedTo;
  }

  /** Blocks above a height left the chain. */
  reorganised(height: number): void {
    for (const turn of this.#turns.values()) {
      if (turn.comparedTo !== null) turn.comparedTo = Math.min(turn.comparedTo, height);
    }
  }

  #of(id: number): Readonly<Turn> {
    return this.#turns.get(id) ?? NEVER;
  }
}
