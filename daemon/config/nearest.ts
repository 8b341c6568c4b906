/** Suggests the known name that an operator most probably meant by an unknown one. */

const EDITS_MAX = 3;
/** More names help nobody. */
const CONTINUED_MAX = 4;

/** How many insertions, deletions, substitutions and swaps of two neighbours turn `a` into `b`. */
function edits(a: string, b: string): number {
  let twoAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? twoAbove[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(replaced, above[j]! + 1, row[j - 1]! + 1, swapped));
    }
    twoAbove = above;
    above = row;
  }
  return above[b.length]!;
}

const plain = (name: string): string => name.toLowerCase().replaceAll('-', '_');

/**
 * The known name nearest to `name`: one at a distance of at most EDITS_MAX (for short names, a third of the length), or
 * else those that continue it (`a or b`), or else the only one with the same last part, given in the wrong table.
 * Ignores case and treats - as _.
 */
export function nearest(name: string, known: readonly string[]): string | null {
  const wanted = plain(name);
  const last = wanted.slice(wanted.lastIndexOf('.') + 1);
  let best: string | null = null;
  let fewest = Math.min(EDITS_MAX, Math.ceil(last.length / 3)) + 1;
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= fewest) continue;
    const distance = edits(wanted, plain(candidate));
    if (distance < fewest) {
      fewest = distance;
      best = candidate;
    }
  }
  if (best !== null) return best;
  const continued = known.filter((candidate) => plain(candidate).startsWith(`${wanted}_`));
  if (continued.length > 0 && continued.length <= CONTINUED_MAX) return continued.join(' or ');
  const moved = known.filter((candidate) => plain(candidate).endsWith(`.${last}`));
  return moved.length === 1 ? moved[0]! : null;
}
