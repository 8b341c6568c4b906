/** Puts rings together: of each spent output with some of its decoys, so that all together have the planned number of bytes. */
import { RING_MEMBERS, ringBytes } from './weight.ts';

/** Members of a ring besides the spent output. */
export const DECOYS = RING_MEMBERS - 1;
/** How often another ring is tried. Rings differ by a few bytes, so that about one of seven fits. */
const TRIES_MAX = 2_000;

/** An output of ours by its number, and at least as many numbers of others as a ring needs, in random order. */
export type Around = { own: number; others: readonly number[] };

/** The ring from one place of the others on. */
function ringFrom({ own, others }: Around, start: number): number[] {
  const chosen = Array.from({ length: DECOYS }, (_, at) => others[(start + at) % others.length] as number);
  return [own, ...chosen].toSorted((a, b) => a - b);
}

/**
 * The same for the same numbers, so that a payment that is signed anew has the same rings. If none fit, those of the first decoys: the
 * choice must not follow the bytes further than chance goes.
 */
export function fittingRings(inputs: readonly Around[], bytes: number): number[][] {
  const starts = inputs.map(() => 0);
  const first = inputs.map((input) => ringFrom(input, 0));
  const rings = [...first];
  let off = rings.reduce((sum, ring) => sum + ringBytes(ring), 0) - bytes;
  for (let tries = 0; off !== 0 && tries < TRIES_MAX; tries++) {
    const at = tries % inputs.length;
    const start = (starts[at] as number) + 1;
    starts[at] = start;
    const ring = ringFrom(inputs[at] as Around, start);
    const next = off - ringBytes(rings[at] as number[]) + ringBytes(ring);
    if (Math.abs(next) > Math.abs(off)) continue;
    rings[at] = ring;
    off = next;
  }
  return off === 0 ? rings : first;
}
