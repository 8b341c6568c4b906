/** The next blocks of an account chain, near its head and far from it. */
import { type BlockId, CHECKPOINT_BLOCKS_MAX, type Checkpoint } from '../../domain/chain.ts';
import { changed, extended, idOf, linkedAbove } from '../checkpoint.ts';
import type { Header } from './answers.ts';
import type { EvmEndpoint } from './endpoint.ts';

/** Near the head every header is read, in steps of this many blocks. */
const BLOCKS_PER_STEP_MAX = 100;
/** Further than this below the head, only the last header of a step is read. */
const FAR_BLOCKS = 1_000;

/** `headers` are in order and end at `to`. Far from the head there is only the last one of the step. */
export type Step = { from: number; to: number; isFar: boolean; headers: Header[] };

/** The next step above `base`; far from the head it has `range` blocks. */
export async function stepAbove(
  endpoint: EvmEndpoint,
  base: BlockId,
  head: Header,
  range: number,
  signal: AbortSignal,
): Promise<Step> {
  const from = base.height + 1;
  const ahead = head.height - base.height;
  if (ahead <= 0) return { from, to: base.height, isFar: false, headers: [] };
  if (ahead <= FAR_BLOCKS) {
    const headers = await linkedAbove(endpoint, base, Math.min(BLOCKS_PER_STEP_MAX, ahead), signal, head);
    return { from, to: base.height + headers.length, isFar: false, headers };
  }
  const to = base.height + Math.min(range, ahead - CHECKPOINT_BLOCKS_MAX);
  const [last] = await endpoint.headers([to], signal);
  if (!last) throw changed();
  return { from, to, isFar: true, headers: [last] };
}

/** The checkpoint after `known` was continued by a step. One that left a gap begins anew at its end. */
export const checkpointAfter = (known: Checkpoint, { isFar, headers }: Step): Checkpoint =>
  isFar ? headers.map(idOf) : extended(known, headers);

/** The blocks of a step that are so close below the head. */
export const newestOf = ({ isFar, headers }: Step, head: BlockId, blocks: number): BlockId[] =>
  isFar ? [] : headers.filter(({ height }) => height > head.height - blocks).map(idOf);
