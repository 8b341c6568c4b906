/**
 * Follows an endpoint's chain from a checkpoint: where the two part, and the headers of the next step.
 *
 * Invariant: the headers of a step link to each other and to the block below, so that an endpoint which reorganises while
 * it is read, or has several nodes behind it, can fail a step but never mix two branches.
 */
import { type BlockId, CHECKPOINT_BLOCKS_MAX, type Checkpoint } from '../../domain/chain.ts';
import { ChainAlert, Unavailable } from '../../domain/errors.ts';
import { tipOf } from '../adapter.ts';
import type { Header } from './answers.ts';
import type { Endpoint } from './endpoint.ts';

/** Near the head every header is read, in steps of this many blocks. */
export const BLOCKS_PER_STEP_MAX = 100;
/** Further below than this from the head, only the last block of a step is. */
const FAR_BLOCKS = 1_000;

export const idOf = ({ height, hash }: Header): BlockId => ({ height, hash });

/** How many of `known` (contiguous) are on the endpoint's chain; null when it is behind them and contradicts nothing. */
export async function commonBlocks(
  endpoint: Endpoint,
  known: Checkpoint,
  head: Header,
  signal: AbortSignal,
): Promise<number | null> {
  const tip = tipOf(known);
  if (head.hash === tip.hash) return known.length;
  if (head.height >= tip.height) {
    const [there] = await endpoint.headers([tip.height], signal);
    if (there?.hash === tip.hash) return known.length;
  }
  const reachable = known.filter(({ height }) => height <= head.height);
  const headers = await endpoint.headers(
    reachable.map(({ height }) => height),
    signal,
  );
  if (headers.includes(null)) return null;
  const common = reachable.findLastIndex(({ hash }, i) => hash === headers[i]?.hash) + 1;
  if (head.height < tip.height && common === reachable.length) return null;
  if (common > 0) return common;
  throw new ChainAlert(
    `the endpoint's chain (now ${head.hash} at ${head.height}) shares none of the last ${known.length} blocks known ` +
      `here (${known[0]?.height} to ${tip.height}): a reorganisation deeper than any that can be undone, or a node of ` +
      'another chain. Nothing of this chain is updated until the endpoint is back on the known one.',
  );
}

/** `headers` are in order and end at `to`. Far from the head there is only the last one of the step. */
export type StepAhead = { from: number; to: number; isFar: boolean; headers: Header[] };

/** The next step above `base`: near the head with all its headers, far from it with the last one alone. */
export async function stepAhead(
  endpoint: Endpoint,
  base: BlockId,
  head: Header,
  range: number,
  signal: AbortSignal,
): Promise<StepAhead> {
  const from = base.height + 1;
  const ahead = head.height - base.height;
  if (ahead <= 0) return { from, to: base.height, isFar: false, headers: [] };
  const isFar = ahead > FAR_BLOCKS;
  const length = isFar ? Math.min(range, ahead - CHECKPOINT_BLOCKS_MAX) : Math.min(BLOCKS_PER_STEP_MAX, ahead);
  const to = base.height + length;
  const heights = isFar ? [to] : Array.from({ length }, (_, i) => from + i);
  const headers = (await endpoint.headers(heights, signal)).filter((header) => header !== null);
  let previous = isFar ? null : base.hash;
  for (const header of headers) {
    if (previous !== null && header.parent !== previous) throw changed();
    previous = header.hash;
  }
  if (headers.length < heights.length) throw changed();
  return { from, to, isFar, headers };
}

/** The checkpoint after `known` was continued by a step. One that left a gap begins anew at its end. */
export function extended(known: Checkpoint, { isFar, headers }: StepAhead): Checkpoint {
  const ids = headers.map(idOf);
  if (isFar) return ids;
  return [...known, ...ids].slice(-CHECKPOINT_BLOCKS_MAX);
}

export const changed = (): Unavailable => new Unavailable('the chain changed while it was read', 1);
