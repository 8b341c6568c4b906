/**
 * The addresses of a wallet that may have been given out, if only the last used one is known. They are watched and not
 * given out again.
 */

/** Indices of one branch (BIP-44); `to` is excluded. */
export type IndexRange = { from: number; to: number };

/** Unpaid addresses in a row after the last paid one. BIP-44 uses 20, which is too few for a shop. */
export const GAP = 1_000;

/** Restores in a row, without a payment in between, that a watched wallet may have had. */
const JUMPS_WATCHED = 1;

/** How far a restore from a backup moves the next index: more than a shop uses between two backups. */
export const INDICES_JUMPED = 10_000;

/** Each costs INDICES_JUMPED derived and watched addresses in each branch of an account. */
export const EARLIER_RESTORES_MAX = 20;

/**
 * How far a restore moves the next index if the shop was restored `earlier` times since its backup was made. Each of
 * those machines may have moved as far and given out as many addresses.
 */
export const jumpAfter = (earlier: number): number => INDICES_JUMPED * (earlier + 1);

/**
 * The indices to watch. `used`: the highest index known to be used; -1: none. `gap`: the unpaid addresses after it.
 * `jumps`: how many restores in a row may have happened without a payment in between; each may have started at any
 * index up to the end of the gap, moved on, and left a gap behind, so that the gaps of all of them add up.
 */
export function indicesToWatch(used: number, gap: number, jumps: number): IndexRange[] {
  const end = used + 1 + gap;
  const ranges: IndexRange[] = [{ from: 0, to: end }];
  for (let jump = 1; jump <= jumps; jump++) {
    const from = jump * INDICES_JUMPED;
    ranges.push({ from, to: from + end + jump * gap });
  }
  return merged(ranges);
}

/**
 * The indices that a service watches and never gives out when it begins with a wallet that was used before. It begins
 * behind the last of them. They are one gap more than needed, so that a payment found within it requires no second
 * reading of the past.
 */
export const indicesOfPast = (used: number, gap: number): IndexRange[] =>
  indicesToWatch(used + gap, gap, JUMPS_WATCHED);

/**
 * The indices to search for the use of words. They may have been restored before: such a service has begun behind
 * `indicesOfPast` of an index up to `used`, and gave out addresses up to a gap from there.
 */
export function indicesToSearch(used: number, gap: number, jumps: number): IndexRange[] {
  const behind = indicesOfPast(used, gap).at(-1)?.to ?? 0;
  return merged([...indicesToWatch(used, gap, jumps), { from: INDICES_JUMPED, to: behind + gap }]);
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

/** The indices that are in `ranges` and not in the second list, ascending. */
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
