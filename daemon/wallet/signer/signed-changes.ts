/**
 * The addresses that the change of an account was signed to, and the furthest one for the next. A search by the words looks a gap further
 * than the last address that was used; only a restore goes further, and begins an epoch.
 *
 * Invariant: of the versions of a payment one confirms at most. So beside a version the others do not count, nor does what is within
 * reach by them alone. Else versions that are signed and never sent would lead anywhere, step by step. So would payments that a forwarding plan
 * lets go, whose number nothing limits: those of 24 hours lead a plan no further.
 */
import { EARLIER_RESTORES_MAX, GAP, jumpAfter } from '../../domain/indices.ts';

/** `epochs`: how many epochs there were then. */
export type SignedChange = { index: number; epochs: number };

/** `uuids`: of the withdrawals of its transaction. `forwardedAt`: when a forwarding plan let it go, milliseconds since 1970; null: none did. */
type Placed = SignedChange & { uuids: readonly string[]; forwardedAt: number | null };

/** `uuids`: the withdrawals that were signed before. `since`: from when on what was forwarded does not count; null: it always does. */
type Beside = { uuids: readonly string[]; since: number | null };

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

  take(account: string, change: Placed): void {
    const placed = this.#placed.get(account);
    if (placed) placed.push(change);
    else this.#placed.set(account, [change]);
    this.#furthest.set(account, further(this.#furthest.get(account), change));
  }

  /**
   * The change that went furthest beside a transaction. `first`: what counts before the first change; otherwise that change itself does,
   * whatever it is of.
   */
  furthest(account: string, { uuids, since }: Beside, first: SignedChange | undefined): SignedChange | undefined {
    if (uuids.length === 0 && since === null) return this.#furthest.get(account) ?? first;
    const own = new Set(uuids);
    const placed = this.#placed.get(account) ?? [];
    let last = first ?? placed[0];
    for (const change of placed) {
      const isNew = since !== null && change.forwardedAt !== null && change.forwardedAt > since;
      if (isNew || change.uuids.some((uuid) => own.has(uuid))) continue;
      if (last && change.index <= reachOf(last, change.epochs)) last = further(last, change);
    }
    return last;
  }
}
