/**
 * When money was first seen survives its replacement: what replaces an unconfirmed deposit counts as seen when that was,
 * for as many units as that paid and no more.
 */

/** Units (as text) and when they were first seen, milliseconds since 1970. */
export type Part = [at: number, units: string];

/** Parts of one deposit kept apart; those beyond count as seen with the latest of them. */
export const PARTS_MAX = 8;

/** Takes up to `units` out of parts, the oldest first, and says what is left of them. */
export function takeParts(parts: readonly Part[], units: bigint): { taken: Part[]; rest: Part[] } {
  const taken: Part[] = [];
  const rest: Part[] = [];
  let missing = units;
  for (const [at, text] of parts) {
    const here = BigInt(text);
    const take = here < missing ? here : missing;
    missing -= take;
    if (take > 0n) addPart(taken, at, take);
    if (here > take) rest.push([at, (here - take).toString()]);
  }
  return { taken, rest };
}

/** Appends a part, to the one before where both were seen at once or there are too many. */
function addPart(parts: Part[], at: number, units: bigint): void {
  const last = parts.at(-1);
  if (last && (last[0] === at || parts.length >= PARTS_MAX)) {
    parts[parts.length - 1] = [Math.max(at, last[0]), (BigInt(last[1]) + units).toString()];
  } else {
    parts.push([at, units.toString()]);
  }
}

/** Of money seen at an instant, when parts of it (taken by `takeParts`) were seen earlier: all of it, with the latest. */
export function seenWhen(taken: readonly Part[], units: bigint, seenAt: number): { at: number; inherited: Part[] } {
  const inherited = taken.map(([at, text]): Part => [Math.min(at, seenAt), text]);
  const last = inherited.at(-1);
  if (!last || totalOf(inherited) < units) return { at: seenAt, inherited };
  return { at: last[0], inherited: inherited.slice(0, -1) };
}

/** Parts of which none was first seen later than an instant. */
export const seenBy = (parts: readonly Part[], at: number): Part[] =>
  parts.map(([seenAt, units]) => [Math.min(seenAt, at), units]);

/** A deposit as parts, the oldest first. `inherited`: JSON of some of them, or null; the rest was first seen with it. */
export function partsOf(deposit: { units: string; first_seen_at: number; inherited: string | null }): Part[] {
  const inherited = deposit.inherited === null ? [] : (JSON.parse(deposit.inherited) as Part[]);
  const own = BigInt(deposit.units) - totalOf(inherited);
  return own > 0n ? [...inherited, [deposit.first_seen_at, own.toString()]] : inherited;
}

export const totalOf = (parts: readonly Part[]): bigint => parts.reduce((sum, [, units]) => sum + BigInt(units), 0n);
