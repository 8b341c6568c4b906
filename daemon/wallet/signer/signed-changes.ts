/**
 * The addresses that the change of an account was signed to, and the furthest one for the next. A search by the words looks a gap further
 * than the last address that was used; only a restore goes further, and begins an epoch.
 *
 * Invariant: of the versions of a payment one confirms at most. So beside a version the others do not count, nor does what is within
 * reach by them alone. Else versions that are signed and never sent would lead anywhere, step by step.
 */
import { EARLIER_RESTORES_MAX, GAP, jumpAfter } from '../../domain/indices.ts';

/** `epochs`: how many epochs there were then. */
export type SignedChange = { index: number; epochs: number };

/** `uuids`: of the withdrawals of its transaction. */
type Placed = SignedChange & { uuids: readonly string[] };

/** The highest index to which change may go after another one. `epochs`: how many there are now. */
export const reachOf = (last: SignedChange, epochs: number): number =>
  last.index + GAP + (epochs - last.epochs) * (jumpAfter(EARLIER_RESTORES_MAX) + GAP);

const further = (last: SignedChange | undefined, { index, epochs }: SignedChange): SignedChange => {
  return { index: Math.max(last?.index ?? index, index), epochs };
};

export class SignedChanges {
  /** By account, in the order of their signatures. */
  readonly #placed = new Map<string, Placed[]>();
  /** By account. */
  readonly #furthest = new Map<string, SignedChange>();

  /** Takes note of a signature. */
  take(account: string, change: Placed): void {
    const placed = this.#placed.get(account);
    if (placed) placed.push(change);
    else this.#placed.set(account, [change]);
    this.#furthest.set(account, further(this.#furthest.get(account), change));
  }

  /**
   * The change that went furthest beside a transaction. `versions`: its withdrawals that were signed before. `first`: what counts before
   * the first change; otherwise that change itself does, whatever it is of.
   */
  furthest(account: string, versions: readonly string[], first: SignedChange | undefined): SignedChange | undefined {
    if (versions.length === 0) return this.#furthest.get(account) ?? first;
    const own = new Set(versions);
    const placed = this.#placed.get(account) ?? [];
    let last = first ?? placed[0];
    for (const change of placed) {
      if (change.uuids.some((uuid) => own.has(uuid))) continue;
      if (last && change.index <= reachOf(last, change.epochs)) last = further(last, change);
    }
    return last;
  }
}
