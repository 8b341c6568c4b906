/**
 * The median that one broken or lying source cannot move.
 *
 * Two prices agree when the larger is at most 5 % above the smaller. Each price's group is the prices that agree with
 * it; the largest group counts, and the median is taken of that. There is none when no group has two members, or when
 * equally large groups lie around prices that do not agree with each other: two against two is no majority.
 */

export const AGREEMENT_PERCENT = 5n;
export const AGREEING_MIN = 2;

function agree(a: bigint, b: bigint): boolean {
  const [low, high] = a < b ? [a, b] : [b, a];
  return high * 100n <= low * (100n + AGREEMENT_PERCENT);
}

/** The median of a non-empty ascending list; of an even count the mean of the middle two, rounded down. */
function medianDown(sorted: readonly bigint[]): bigint {
  const upper = sorted[sorted.length >> 1] as bigint;
  const lower = sorted[(sorted.length - 1) >> 1] as bigint;
  return (lower + upper) / 2n;
}

/** The median of those prices (all positive, in any order) that agree, or null when too few do. */
export function agreedMedian(prices: readonly bigint[]): bigint | null {
  const sorted = prices.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const groups = sorted.map((centre) => ({ centre, members: sorted.filter((price) => agree(price, centre)) }));
  const most = Math.max(0, ...groups.map((group) => group.members.length));
  if (most < AGREEING_MIN) return null;
  const largest = groups.filter((group) => group.members.length === most);
  const middle = largest[(largest.length - 1) >> 1];
  if (!middle || !largest.every((group) => agree(group.centre, middle.centre))) return null;
  return medianDown(middle.members);
}
