/**
 * A replacement inherits the first-seen time of the unconfirmed deposit that it replaces, for at most as many units as
 * that one paid.
 */

/** Units and when they were first seen, milliseconds since 1970. */
export type Part = [at: number, units: bigint];

/** Parts kept per deposit; further ones are merged into the latest. */
const PARTS_MAX = 8;

/** Takes up to `units` from parts, the oldest first, and returns the taken parts and the rest. */
export function takeParts(parts: readonly Part[], units: bigint): { taken: Part[]; rest: Part[] } {
  const taken: Part[] = [];
  const rest: Part[] = [];
  let missing = units;
  for (const [at, here] of parts) {
    const take = here < missing ? here : missing;
    missing -= take;
    if (take > 0n) addPart(taken, at, take);
    if (here > take) rest.push([at, here - take]);
  }
  return { taken, rest };
}

/** Appends a part. Merges it with the last one if both have the same time or there are too many. */
function addPart(parts: Part[], at: number, units: bigint): void {
  const last = parts.at(-1);
  if (last && (last[0] === at || parts.length >= PARTS_MAX)) {
    parts[parts.length - 1] = [Math.max(at, last[0]), last[1] + units];
  } else {
    parts.push([at, units]);
  }
}

/** When a deposit counts as seen, and which parts out of `taken` were seen earlier. Milliseconds since 1970. */
export function seenWhen(taken: readonly Part[], units: bigint, seenAt: number): { at: number; inherited: Part[] } {
  const inherited = taken.map(([at, here]): Part => [Math.min(at, seenAt), here]);
  const last = inherited.at(-1);
  if (!last || totalOf(inherited) < units) return { at: seenAt, inherited };
  return { at: last[0], inherited: inherited.slice(0, -1) };
}

/** The parts, none of them first seen later than `at`. */
export const seenBy = (parts: readonly Part[], at: number): Part[] =>
  parts.map(([seenAt, units]) => [Math.min(seenAt, at), units]);

/** A deposit as parts, the oldest first. `inherited`: some of them; the rest was first seen with it. */
export function partsOf(deposit: { units: bigint; first_seen_at: number; inherited: readonly Part[] | null }): Part[] {
  const inherited = [...(deposit.inherited ?? [])];
  const own = deposit.units - totalOf(inherited);
  return own > 0n ? [...inherited, [deposit.first_seen_at, own]] : inherited;
}

export const totalOf = (parts: readonly Part[]): bigint => parts.reduce((sum, [, units]) => sum + units, 0n);
