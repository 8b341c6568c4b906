/**
 * Continues a checkpoint with an endpoint's headers: which of its blocks are still on the chain, and the blocks above.
 *
 * Invariant: the headers of a step link to each other and to the block below, so that an endpoint that reorganises
 * meanwhile, or has several nodes behind it, can make a step fail but never mix two branches.
 */

import { type BlockId, CHECKPOINT_BLOCKS_MAX, type Checkpoint } from '../domain/chain.ts';
import { ChainAlert, Unavailable } from '../domain/errors.ts';
import { MS_PER_HOUR } from '../domain/time.ts';
import { tipOf } from './adapter.ts';

/** `timeMs`: the block's own time, milliseconds since 1970. */
export type LinkedHeader = BlockId & { parent: string; timeMs: number };

/** The requests of this module to an endpoint. */
export interface HeaderSource<H extends LinkedHeader = LinkedHeader> {
  head(signal: AbortSignal): Promise<H>;
  /** The headers at these heights; null where it has no block. */
  headers(heights: readonly number[], signal: AbortSignal): Promise<(H | null)[]>;
}

export const idOf = ({ height, hash }: BlockId): BlockId => ({ height, hash });

export const changed = (): Unavailable => new Unavailable('the chain changed while it was read', 1);

/** The blocks at the end of a checkpoint that follow each other without a gap: a fork could be hidden in a gap. */
export function contiguousEnd(checkpoint: Checkpoint): Checkpoint {
  let from = checkpoint.length - 1;
  while (from > 0 && checkpoint[from - 1]?.height === (checkpoint[from]?.height ?? 0) - 1) from--;
  return checkpoint.slice(from);
}

/** The hashes of blocks at these heights; null where the source has no block. */
export type HashesAt = (heights: readonly number[]) => Promise<(string | null)[]>;

/** The hashes of an endpoint's blocks. */
export const hashesOf =
  (source: HeaderSource, signal: AbortSignal): HashesAt =>
  async (heights) =>
    (await source.headers(heights, signal)).map((header) => header?.hash ?? null);

/**
 * How many of `known` (contiguous) are on the source's chain; null if the source is behind `known` without
 * contradicting it. Throws `ChainAlert` if the fork is below all of them.
 */
export async function commonBlocks(
  hashesAt: HashesAt,
  known: Checkpoint,
  head: BlockId & { parent?: string },
): Promise<number | null> {
  const tip = tipOf(known);
  if (head.hash === tip.hash || isAbove(head, tip)) return known.length;
  if (head.height >= tip.height && (await hashesAt([tip.height]))[0] === tip.hash) return known.length;
  const reachable = known.filter(({ height }) => height <= head.height);
  const hashes = await hashesAt(reachable.map(({ height }) => height));
  // A height without a block: the chain just became shorter, so the next sync decides.
  if (hashes.includes(null)) return null;
  const common = reachable.findLastIndex(({ hash }, i) => hash === hashes[i]) + 1;
  if (head.height < tip.height && common === reachable.length) return null;
  if (common > 0) return common;
  throw deepReorg(known, head);
}

/** Whether a block follows another one. */
const isAbove = ({ height, parent }: BlockId & { parent?: string }, below: BlockId): boolean =>
  height === below.height + 1 && parent === below.hash;

/** The alert that a source's chain has none of the known blocks. */
export const deepReorg = (known: Checkpoint, head: BlockId): ChainAlert =>
  new ChainAlert(
    `the source's chain (now ${head.hash} at ${head.height}) has none of the last ${known.length} blocks known here ` +
      `(${known[0]?.height} to ${tipOf(known).height}): a reorganisation deeper than any that can be undone, or a source ` +
      'of another chain. Nothing of this chain is updated until the source is back on the known one.',
  );

/** The headers above a block, which link to it and to each other. `head`: one known already. Throws `Unavailable`. */
export async function linkedAbove<H extends LinkedHeader>(
  source: HeaderSource<H>,
  base: BlockId,
  count: number,
  signal: AbortSignal,
  head?: H,
): Promise<H[]> {
  const isLast = head !== undefined && head.height === base.height + count;
  const heights = Array.from({ length: isLast ? count - 1 : count }, (_, i) => base.height + 1 + i);
  const asked = heights.length === 0 ? [] : await source.headers(heights, signal);
  const headers = [...asked, ...(isLast ? [head] : [])].filter((header) => header !== null);
  let previous = base.hash;
  for (const header of headers) {
    if (header.parent !== previous) throw changed();
    previous = header.hash;
  }
  if (headers.length < count) throw changed();
  return headers;
}

/** The checkpoint after `known` was continued by blocks. */
export const extended = (known: Checkpoint, blocks: readonly BlockId[]): Checkpoint =>
  [...known, ...blocks.map(idOf)].slice(-CHECKPOINT_BLOCKS_MAX);

/** The checkpoint at the head, or at a block before `birthday` (milliseconds since 1970). */
export async function checkpointAt(
  source: HeaderSource,
  birthday: number | null,
  signal: AbortSignal,
): Promise<Checkpoint> {
  const head = await source.head(signal);
  const height = birthday === null ? head.height : await heightBefore(source, birthday, head, signal);
  const count = Math.min(height + 1, CHECKPOINT_BLOCKS_MAX);
  const headers = await source.headers(
    Array.from({ length: count }, (_, i) => height - count + 1 + i),
    signal,
  );
  const checkpoint: Checkpoint = [];
  let previous: string | null = null;
  for (const header of headers) {
    if (!header || (previous !== null && header.parent !== previous)) throw changed();
    checkpoint.push(idOf(header));
    previous = header.hash;
  }
  return checkpoint;
}

/** How far a block's time may be from the true time on any of these chains. */
const CLOCK_MARGIN_MS = 2 * MS_PER_HOUR;

/** Whether every block made since `birthday` is above this one. */
export const isBefore = ({ height, timeMs }: LinkedHeader, birthday: number): boolean =>
  height === 0 || timeMs < birthday - CLOCK_MARGIN_MS;

/** A height such that every block made since `birthday` is above it. */
async function heightBefore(
  source: HeaderSource,
  birthday: number,
  head: LinkedHeader,
  signal: AbortSignal,
): Promise<number> {
  let before = 0;
  let after = head.height + 1;
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    const [header] = await source.headers([middle], signal);
    if (header && isBefore(header, birthday)) before = middle;
    else after = middle;
  }
  return before;
}
