/**
 * The addresses of a wallet that may have been given out, if only the last used one is known. They are watched and not
 * given out again.
 */

/** Indices of one branch (BIP-44); `to` is excluded. */
export type IndexRange = { from: number; to: number };

/** Unpaid addresses in a row after the last paid one. BIP-44 uses 20, which is too few for a shop. */
export const GAP = 1_000;

/** The most of them that a restore looks past. */
export const GAP_MAX = 20_000;

/** Restores in a row, without a payment in between, that a watched wallet may have had. */
const JUMPS_WATCHED = 1;

/** As many, each of which left a whole gap behind, in a search of the words. */
const JUMPS_WITH_GAPS = 2;

/** Of an account without a payment so far, the first addresses behind each further jump. */
const UNUSED_GAP = 100;

/** How far a restore from a backup moves the next index: more than a shop uses between two backups. */
export const INDICES_JUMPED = 10_000;

/** Each costs INDICES_JUMPED derived and watched addresses in each branch of an account. */
export const EARLIER_RESTORES_MAX = 20;

/** The most jumps of one restore, and so what a search of the words allows for without a payment in between. */
export const JUMPS_SEARCHED = EARLIER_RESTORES_MAX + 1;

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
 * reading of the past. `known`: the jumps behind `used` that are known from elsewhere, as in `Searched`; everything up to them and one
 * jump more.
 */
export function indicesOfPast(used: number, gap: number, known = 0): IndexRange[] {
  const ranges = indicesToWatch(used + gap, gap, JUMPS_WATCHED);
  return known === 0 ? ranges : [{ from: 0, to: (ranges.at(-1)?.to ?? 0) + known * INDICES_JUMPED }];
}

/** The jumps of restores that lie between two used indices of an account, at the least. */
export const jumpsBetween = (used: number, farther: number): number =>
  Math.max(0, Math.floor(farther / INDICES_JUMPED) - Math.floor(Math.max(used, 0) / INDICES_JUMPED));

/** The state of a search of words in one branch. `used`: the highest index known to be used; -1: none. */
type Searched = {
  used: number;
  gap: number;
  /** Jumps in a row without a payment in between that are allowed for. */
  jumps: number;
  /** The jumps that are known from elsewhere: a restore moves both branches of an account. 0 of an unused one. */
  known: number;
  /** Whether nothing is known to be used in the whole account. */
  isUnused: boolean;
};

/**
 * The indices to search for the use of words. Restores in a row left a gap behind each, or one in all if they were many.
 * The words may have been restored before: such a service has begun behind `indicesOfPast` of an index up to `used`, and
 * gave out addresses up to a gap from there; restores of its backups then jumped from there. The payment that such a service
 * began behind may have vanished since.
 */
export function indicesToSearch({ used, gap, jumps, known, isUnused }: Searched): IndexRange[] {
  const ranges: IndexRange[] = [{ from: 0, to: used + 1 + gap }];
  const behind = (indicesOfPast(used, gap).at(-1)?.to ?? 0) - INDICES_JUMPED;
  // the beginning from the words is one more
  for (let jump = 1; jump <= jumps + known + 1; jump++) {
    const from = jump * INDICES_JUMPED;
    const isNear = jump <= JUMPS_WITH_GAPS + known;
    const times = isNear && !isUnused ? jump : 1;
    ranges.push({ from, to: from + (isUnused && !isNear ? Math.min(gap, UNUSED_GAP) : times * (behind + 1 + gap)) });
  }
  return merged(ranges);
}

/** How far other programs look into an account of which no use is known (BIP-44). */
const FIRST_LOOK = 20;

/** How many of `searchSteps` come before a wallet can be used: the likely addresses, and those behind one restore. */
export const NEAR_STEPS = 2;

/**
 * `indicesToSearch` in an order, because a server may need days for all of them: what is missing of the first list is searched
 * first. First comes where money most likely is: the first gap, and a gap on each side of the last used index. Then the gap behind
 * one restore, then what is below the last used index and the first gap of unused accounts, and then all.
 */
export function searchSteps(searched: Searched): IndexRange[][] {
  const { used, gap, isUnused } = searched;
  const all = indicesToSearch(searched);
  const below: IndexRange = { from: 0, to: used + 1 + gap };
  if (isUnused) {
    const first = [{ from: 0, to: Math.min(gap, FIRST_LOOK) }];
    return [first, first, [below], all];
  }
  const from = Math.max(0, used + 1 - gap);
  const likely = [
    { from: 0, to: gap },
    { from, to: below.to },
  ];
  const behind = (indicesOfPast(used, gap).at(-1)?.to ?? 0) + 1 + gap;
  const restored = { from: INDICES_JUMPED + from, to: behind };
  return [likely, [...likely, restored], [below, restored], all];
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
