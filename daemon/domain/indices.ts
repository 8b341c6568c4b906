/**
 * Which addresses of a wallet may have been given out, when all that is known is the last one that was used. They are
 * watched, and none of them is given out again.
 */

/** Indices of one branch (BIP-44); `to` is not included. */
export type IndexRange = { from: number; to: number };

/** Addresses in a row that nobody paid, after the last one that somebody did. BIP-44 counts 20: a shop needs more. */
export const GAP = 1_000;

/** How far a restore from a backup jumps ahead: more than a shop uses between two backups. */
export const INDICES_JUMPED = 10_000;

/** Each costs INDICES_JUMPED addresses in each branch of an account that are derived and watched. */
export const EARLIER_RESTORES_MAX = 20;

/**
 * How far a restore jumps when a shop was restored `earlier` times since its backup was made: each of those machines may
 * have jumped as far and have given out as many, which this one watches and does not give out again.
 */
export const jumpAfter = (earlier: number): number => INDICES_JUMPED * (earlier + 1);

/**
 * The indices that are looked at and watched. `used`: the highest one that is known to be used, -1 for none. A restore
 * may have begun anew from any index up to the end of the gap, plus the jump, and have left a gap behind that.
 * `jumps`: how many such restores in a row may have happened without one payment in between.
 */
export function indicesToWatch(used: number, gap: number, jumps: number): IndexRange[] {
  const end = used + 1 + gap;
  const ranges: IndexRange[] = [{ from: 0, to: end }];
  for (let jump = 1; jump <= jumps; jump++) {
    const from = jump * INDICES_JUMPED;
    ranges.push({ from, to: from + end + gap });
  }
  return merged(ranges);
}

function merged(ranges: readonly IndexRange[]): IndexRange[] {
  const found: IndexRange[] = [];
  for (const range of [...ranges].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && range.from <= last.to) last.to = Math.max(last.to, range.to);
    else found.push({ ...range });
  }
  return found;
}

/** What is in the first ranges and not in the second, ascending. */
export function without(ranges: readonly IndexRange[], others: readonly IndexRange[]): IndexRange[] {
  const left: IndexRange[] = [];
  const taken = merged(others);
  for (const { from, to } of merged(ranges)) {
    let at = from;
    for (const other of taken) {
      if (other.to <= at || other.from >= to) continue;
      if (other.from > at) left.push({ from: at, to: other.from });
      at = Math.max(at, other.to);
    }
    if (at < to) left.push({ from: at, to });
  }
  return left;
}
