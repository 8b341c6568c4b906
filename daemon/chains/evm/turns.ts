/**
 * The order in which addresses have their differences explained. One look explains only some, and anybody can send a crumb to any number
 * of addresses with each block. So those come first that were never tried, or not for the longest time; of these, those that received most.
 */

/** `last`: the number of the look that tried it; 0: none did. `comparedTo`: of one that waits, the height up to which it was compared. */
type Turn = { last: number; comparedTo: number | null };

/** More than one look asks for. */
const TURNS_MAX = 5_000;

export class Turns {
  #looks = 0;
  readonly #turns = new Map<number, Turn>();

  /** Begins a look. Returns its addresses in the order of their turns. `more`: what an address received beyond what is known. */
  begin<T extends { one: { id: number }; more: bigint }>(open: readonly T[]): T[] {
    this.#looks++;
    if (this.#turns.size >= TURNS_MAX) this.#forget();
    const lastOf = ({ one }: T): number => this.#turns.get(one.id)?.last ?? 0;
    return open.toSorted((a, b) => lastOf(a) - lastOf(b) || Number(b.more - a.more));
  }

  /** Whether an earlier look tried it, so that it had its turn. */
  wasTried(id: number): boolean {
    return (this.#turns.get(id)?.last ?? 0) > 0;
  }

  tried(id: number): void {
    this.#turns.set(id, { last: this.#looks, comparedTo: this.comparedTo(id) });
  }

  /** It waits. `comparedTo`: unless it waited before. */
  left(id: number, comparedTo: number | null): void {
    const last = this.#turns.get(id)?.last ?? 0;
    this.#turns.set(id, { last, comparedTo: this.comparedTo(id) ?? comparedTo });
  }

  /** It waits no more. */
  done(id: number): void {
    const turn = this.#turns.get(id);
    if (turn) turn.comparedTo = null;
  }

  /** The height up to which an address that waits was compared; null: it does not wait. */
  comparedTo(id: number): number | null {
    return this.#turns.get(id)?.comparedTo ?? null;
  }

  /** Forgets those that do not wait. The others keep their heights, or a payment would be dated in a later block. */
  #forget(): void {
    for (const [id, { comparedTo }] of this.#turns) if (comparedTo === null) this.#turns.delete(id);
  }

  /** Blocks above a height left the chain. */
  reorganised(height: number): void {
    for (const turn of this.#turns.values()) {
      if (turn.comparedTo !== null) turn.comparedTo = Math.min(turn.comparedTo, height);
    }
  }
}
