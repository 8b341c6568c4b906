/**
 * The addresses of an extended public key that payments were signed to: each next payment gets the next one.
 *
 * Invariants. The index is the signer's, so that nobody chooses it. Payments that spend the same coin get the same
 * index, since only one of them can confirm. No more than `NEW_IN_DAY` indices are new in 24 hours: then the newest one is used again. So payments
 * that are signed and never sent take the money no farther a day than a wallet looks by itself (BIP-44).
 */
import { MS_PER_DAY } from '../../domain/time.ts';

/** BIP-44's gap. */
export const NEW_IN_DAY = 20;

/** One use of an index of a key, named by its network and descriptor. */
export type IndexUse = { key: string; index: number };

type Uses = { highest: number; byCoin: Map<string, number>; begunAt: number[] };

export class ForwardIndices {
  readonly #uses = new Map<string, Uses>();

  /** Takes note of a signature. `coins`: what it spends. `at`: milliseconds since 1970. */
  take({ key, index }: IndexUse, coins: readonly string[], at: number): void {
    const uses = this.#uses.get(key) ?? { highest: -1, byCoin: new Map(), begunAt: [] };
    this.#uses.set(key, uses);
    for (const coin of coins) uses.byCoin.set(coin, index);
    if (index <= uses.highest) return;
    uses.highest = index;
    // the newest, whatever their time: a clock that was ahead once must not give back what was used on the day that it returns to
    uses.begunAt = [...uses.begunAt, at].slice(-NEW_IN_DAY);
  }

  /** The index that a payment of these coins must pay. `from`: the first one that the operator allowed. */
  next(key: string, from: number, coins: Iterable<string>, now: number): number {
    const uses = this.#uses.get(key);
    if (!uses) return from;
    for (const coin of coins) {
      const index = uses.byCoin.get(coin);
      if (index !== undefined) return index;
    }
    if (uses.highest < from) return from;
    const isMany = uses.begunAt.filter((begun) => begun > now - MS_PER_DAY).length >= NEW_IN_DAY;
    return isMany ? uses.highest : uses.highest + 1;
  }
}
