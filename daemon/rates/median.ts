/**
 * A median that one broken or dishonest source cannot move.
 *
 * Two prices agree when the larger is at most 5 % above the smaller. A price's group is the set of prices that agree
 * with it. The result is the median of the largest group. There is no result if no group has two members, or if equally
 * large groups lie around prices that do not agree with each other.
 */

const AGREEMENT_PERCENT = 5n;
const AGREEING_MIN = 2;

function agree(a: bigint, b: bigint): boolean {
  const [low, high] = a < b ? [a, b] : [b, a];
  return high * 100n <= low * (100n + AGREEMENT_PERCENT);
}

/** The median of a non-empty ascending list. With an even count, the mean of the middle two, rounded down. */
function medianDown(sorted: readonly bigint[]): bigint {
  const upper = sorted[sorted.length >> 1] as bigint;
  const lower = sorted[(sorted.length - 1) >> 1] as bigint;
  return (lower + upper) / 2n;
}

/** The median of the agreeing prices (all positive, in any order), or null if too few agree. */
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
